/* SPDX-License-Identifier: Apache-2.0 */
/** The map side: Spark's own writers, and the publication of what they have committed. */
@NullMarked
package org.shufflerdma.writer;

import org.jspecify.annotations.NullMarked;
