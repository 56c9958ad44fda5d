/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What benchmarks write and {@code bin/bench report} reads: files of JSON lines, of which the first
 * says where the runs were made and each other one is a {@link
 * org.shufflerdma.benchmarks.report.Run}.
 */
@NullMarked
package org.shufflerdma.benchmarks.report;

import org.jspecify.annotations.NullMarked;
