/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What is taken from the metrics of a task, and where Spark's {@code JsonProtocol} writes it. */
enum TaskMetric {
  RUN_MS("", "Executor Run Time"),
  REMOTE_BLOCKS(TaskMetric.READ, "Remote Blocks Fetched"),
  LOCAL_BLOCKS(TaskMetric.READ, "Local Blocks Fetched"),
  REMOTE_BYTES(TaskMetric.READ, "Remote Bytes Read"),
  REMOTE_BYTES_TO_DISK(TaskMetric.READ, "Remote Bytes Read To Disk"),
  LOCAL_BYTES(TaskMetric.READ, "Local Bytes Read"),
  FETCH_WAIT_MS(TaskMetric.READ, "Fetch Wait Time"),
  RECORDS_READ(TaskMetric.READ, "Total Records Read"),
  BYTES_WRITTEN(TaskMetric.WRITE, "Shuffle Bytes Written"),
  WRITE_NS(TaskMetric.WRITE, "Shuffle Write Time"),
  RECORDS_WRITTEN(TaskMetric.WRITE, "Shuffle Records Written");

  static final String READ = "Shuffle Read Metrics";
  static final String WRITE = "Shuffle Write Metrics";

  private static final Map<String, TaskMetric> BY_PLACE = Arrays.stream(values())
      .collect(Collectors.toMap(metric -> metric.group + "/" + metric.key, Function.identity()));

  private final String group;
  private final String key;

  TaskMetric(String group, String key) {
    this.group = group;
    this.key = key;
  }

  /** @param group the object within the metrics; empty for the metrics themselves */
  static @Nullable TaskMetric at(String group, String key) {
    return BY_PLACE.get(group + "/" + key);
  }
}
