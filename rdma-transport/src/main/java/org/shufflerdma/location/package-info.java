/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The formats by which a peer finds a map output: the descriptor in registered memory, and the
 * trailer that points to it.
 */
@NullMarked
package org.shufflerdma.location;

import org.jspecify.annotations.NullMarked;
