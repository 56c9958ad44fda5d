/* SPDX-License-Identifier: Apache-2.0 */
/** The composition root: what the shuffle manager starts on the driver and on each executor. */
@NullMarked
package org.shufflerdma.plugin;

import org.jspecify.annotations.NullMarked;
