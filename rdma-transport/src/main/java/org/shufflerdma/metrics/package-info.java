/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The counters per task and per executor with their public names, the histograms of what takes time, and
 * the timer of a start. It does not depend on Spark.
 */
@NullMarked
package org.shufflerdma.metrics;

import org.jspecify.annotations.NullMarked;
