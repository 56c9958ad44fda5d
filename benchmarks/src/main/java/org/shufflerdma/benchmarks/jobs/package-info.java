/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whole jobs, run in turns by applications that differ in their shuffle alone. {@link
 * org.shufflerdma.benchmarks.jobs.JobBench} starts the drivers and tells them when to run a job;
 * in each of them a {@link org.shufflerdma.benchmarks.jobs.JobServer} runs it and reports what it
 * cost. {@link org.shufflerdma.benchmarks.jobs.StartBench} has it take the first steps of new executors,
 * and {@link org.shufflerdma.benchmarks.jobs.MemoryBench} measure their memory.
 */
@NullMarked
package org.shufflerdma.benchmarks.jobs;

import org.jspecify.annotations.NullMarked;
