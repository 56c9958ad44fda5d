/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sort of a reduce task's records: runs that are sorted while they are in the cache, spills, and the
 * merge.
 */
@NullMarked
package org.shufflerdma.sorter;

import org.jspecify.annotations.NullMarked;
