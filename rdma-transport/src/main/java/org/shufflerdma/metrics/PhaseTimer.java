/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;

/**
 * Takes the time of what one thread does, phase by phase: that of the clock, and in brackets the
 * thread's CPU time. Belongs to the thread that made it.
 */
public final class PhaseTimer {
  private static final long NS_PER_MS = TimeUnit.MILLISECONDS.toNanos(1);

  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final StringBuilder phases = new StringBuilder();
  private final long beganNs = System.nanoTime();
  private final long beganCpuNs = threads.getCurrentThreadCpuTime();
  private long sinceNs = beganNs;
  private long sinceCpuNs = beganCpuNs;

  /** Ends a phase, which began where the one before it ended. */
  public void ended(String phase) {
    long nowNs = System.nanoTime();
    long nowCpuNs = threads.getCurrentThreadCpuTime();
    phases.append(phases.length() == 0 ? ": " : ", ").append(phase).append(' ');
    append(phases, nowNs - sinceNs, nowCpuNs - sinceCpuNs);
    sinceNs = nowNs;
    sinceCpuNs = nowCpuNs;
  }

  /** The time until the last phase ended, and each phase, for example {@code 9 (7) ms: one 9 (7)}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    append(text, sinceNs - beganNs, sinceCpuNs - beganCpuNs);
    return text.append(" ms").append(phases).toString();
  }

  /** String concatenation would be linked at its first use, which is what is being timed. */
  private static void append(StringBuilder text, long ns, long cpuNs) {
    text.append(ns / NS_PER_MS).append(" (").append(cpuNs / NS_PER_MS).append(')');
  }
}
