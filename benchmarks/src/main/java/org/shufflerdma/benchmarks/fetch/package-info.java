/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Blocks of one size, fetched from another process in turns by the plugin, by Spark's own client, and
 * by system calls in a loop. All verify the CRC32C of every block. {@link
 * org.shufflerdma.benchmarks.fetch.FetchBench} reads, and starts a {@link
 * org.shufflerdma.benchmarks.fetch.FetchServer}. {@link org.shufflerdma.benchmarks.fetch.ReadBench} does
 * the same with lists of READs, one layer below, and {@link
 * org.shufflerdma.benchmarks.fetch.ReadServer}.
 */
@NullMarked
package org.shufflerdma.benchmarks.fetch;

import org.jspecify.annotations.NullMarked;
