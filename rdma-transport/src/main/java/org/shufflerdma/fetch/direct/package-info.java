/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The engine of fetches, in one thread for each: it finds out where blocks are, posts lists of READs to the peers in turn,
 * verifies what has come, reads again what has not, and leaves the rest with its reason.
 */
@NullMarked
package org.shufflerdma.fetch.direct;

import org.jspecify.annotations.NullMarked;
