/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** The time that one fetch of a task has lost so far, by what it lost it by. Thread-safe. */
public final class TaskTimes {
  private final Map<TaskTime, LongAdder> lostNs = new EnumMap<>(TaskTime.class);

  public TaskTimes() {
    for (TaskTime by : TaskTime.values()) {
      lostNs.put(by, new LongAdder());
    }
  }

  /** Adds nanoseconds. */
  public void add(TaskTime by, long ns) {
    adder(by).add(ns);
  }

  /** Returns nanoseconds. */
  public long ns(TaskTime by) {
    return adder(by).sum();
  }

  private LongAdder adder(TaskTime by) {
    return Objects.requireNonNull(lostNs.get(by));
  }

  /** Adds all times to the counters of the task, in whole microseconds. To be called once, at the end. */
  public void addTo(ReadCounters counters) {
    lostNs.forEach((by, ns) -> counters.add(by, TimeUnit.NANOSECONDS.toMicros(ns.sum())));
  }
}
