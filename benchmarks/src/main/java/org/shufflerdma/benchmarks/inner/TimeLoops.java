/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.inner;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.shufflerdma.metrics.LatencyHistogram;

/** What it costs to note how long something took. */
public class TimeLoops {
  /** Times that differ as those of READs do, so that threads seldom use one bucket at a time. */
  @State(Scope.Thread)
  public static class Times {
    private static final long SPREAD_NS = (1 << 20) - 1;
    private static final long STEP = 0x9E37_79B9_7F4A_7C15L;

    private long seed;

    long next() {
      seed += STEP;
      return (seed >>> Integer.SIZE) & SPREAD_NS;
    }
  }

  @State(Scope.Benchmark)
  public static class Shared {
    private final LatencyHistogram times = new LatencyHistogram();
  }

  @Benchmark
  public void recordTime(Shared shared, Times times) {
    shared.times.record(times.next());
  }

  /** Two threads that do nothing else, which is more than tasks do. */
  @Benchmark
  @Threads(2)
  public void recordTimeBesideAnother(Shared shared, Times times) {
    shared.times.record(times.next());
  }

  /** With both readings of the clock. */
  @Benchmark
  public long takeTime(Shared shared) {
    return shared.times.recordSince(System.nanoTime());
  }
}
