/* SPDX-License-Identifier: Apache-2.0 */
/** Publishes the map outputs that Spark's own writers have committed. */
@NullMarked
package org.shufflerdma.publication;

import org.jspecify.annotations.NullMarked;
