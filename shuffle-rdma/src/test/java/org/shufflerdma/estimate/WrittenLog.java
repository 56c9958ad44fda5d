/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Makes event logs as Spark's {@code JsonProtocol} writes them, with the fields that matter. */
final class WrittenLog {
  private final List<String> lines = new ArrayList<>();

  /** An application of two stages on two executors, of which the first writes so many partitions for the second. */
  static WrittenLog ofShuffle(
      Map<String, String> properties, String rdd, String scope, int partitions) {
    String settings = properties.entrySet().stream()
        .map(entry -> "\"%s\":\"%s\"".formatted(entry.getKey(), entry.getValue()))
        .collect(Collectors.joining(","));
    WrittenLog log = new WrittenLog()
        .line("{'Event':'SparkListenerLogStart','Spark Version':'4.1.3'}")
        .line(
            "{'Event':'SparkListenerEnvironmentUpdate','JVM Information':{},'Spark Properties':{%s}}"
                .formatted(settings))
        .line(
            "{'Event':'SparkListenerApplicationStart','App Name':'a job','App ID':'app-1','Timestamp':1000}");
    for (int i = 0; i < 2; i++) {
      log.line(
          "{'Event':'SparkListenerExecutorAdded','Executor ID':'%d','Executor Info':{'Host':'host%d','Total Cores':4}}"
              .formatted(i, i));
    }
    return log.stage(
            0, "{'RDD ID':5,'Name':'MapPartitionsRDD','Parent IDs':[],'Number of Partitions':2}")
        .stage(
            1,
            "{'RDD ID':7,'Name':'%s','Scope':'{\\'id\\':\\'3\\',\\'name\\':\\'%s\\'}','Parent IDs':[5],'Number of Partitions':%d}"
                .formatted(rdd, scope, partitions));
  }

  WrittenLog line(String json) {
    lines.add(json.replace("\\'", "\\\"").replace('\'', '"'));
    return this;
  }

  WrittenLog stage(int id, String rdd) {
    return line(
        "{'Event':'SparkListenerStageSubmitted','Stage Info':{'Stage ID':%d,'Stage Attempt ID':0,'Stage Name':'stage %d','RDD Info':[%s]},'Properties':{}}"
            .formatted(id, id, rdd));
  }

  /** A task of 10 s, from the 10th second on. */
  WrittenLog task(int stage, int executor, String metrics) {
    return line(
        "{'Event':'SparkListenerTaskEnd','Stage ID':%d,'Stage Attempt ID':0,'Task End Reason':{'Reason':'Success'},'Task Info':{'Executor ID':'%d','Launch Time':%d,'Finish Time':%d},'Task Metrics':{'Executor Run Time':10000,%s}}"
            .formatted(stage, executor, 10_000 * (stage + 1), 10_000 * (stage + 2), metrics));
  }

  static String written(long bytes, long records) {
    return "'Shuffle Write Metrics':{'Shuffle Bytes Written':%d,'Shuffle Write Time':1000000,'Shuffle Records Written':%d}"
        .formatted(bytes, records);
  }

  static String read(long blocks, long bytes, long waitMs) {
    return "'Shuffle Read Metrics':{'Remote Blocks Fetched':%d,'Local Blocks Fetched':0,'Fetch Wait Time':%d,'Remote Bytes Read':%d,'Local Bytes Read':0,'Total Records Read':9}"
        .formatted(blocks, waitMs, bytes);
  }

  WrittenLog end() {
    return line("{'Event':'SparkListenerApplicationEnd','Timestamp':99000}");
  }

  byte[] bytes() {
    return (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
  }
}
