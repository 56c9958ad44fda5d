/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the locations of map outputs add to Spark's map statuses: {@link org.shufflerdma.benchmarks.statuses.StatusBench} makes the statuses
 * of many {@link org.shufflerdma.benchmarks.statuses.Owner}s, which go by Spark's own code to the driver and from there to the readers.
 */
@NullMarked
package org.shufflerdma.benchmarks.statuses;

import org.jspecify.annotations.NullMarked;
