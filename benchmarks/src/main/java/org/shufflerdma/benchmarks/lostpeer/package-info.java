/* SPDX-License-Identifier: Apache-2.0 */
/** Measures what Spark notices of a lost executor, and how soon. */
@NullMarked
package org.shufflerdma.benchmarks.lostpeer;

import org.jspecify.annotations.NullMarked;
