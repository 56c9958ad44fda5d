/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The formats of what a peer reads to find a map output: the descriptor in registered memory and
 * the trailer that points to it.
 */
@NullMarked
package org.shufflerdma.location;

import org.jspecify.annotations.NullMarked;
