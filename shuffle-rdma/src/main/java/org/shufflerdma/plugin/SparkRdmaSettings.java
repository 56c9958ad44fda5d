/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The settings of SparkRDMA, whose users may keep their configuration files. */
final class SparkRdmaSettings {
  private static final String AUTOMATIC = "nothing: the plugin needs no such setting";
  private static final String ONE_SIDED = "nothing: READs need no receive queue";
  private static final String METRICS = "nothing: see the `shuffle.rdma.*` counters";
  private static final String CONNECT = "`spark.shuffle.rdma.connectTimeout`";
  private static final String POOL = "`spark.shuffle.rdma.poolBytes`";

  /** The names of SparkRDMA's settings that this project does not have, with what to use instead. */
  static final NavigableMap<String, String> INSTEAD =
      Collections.unmodifiableNavigableMap(new TreeMap<>(Map.ofEntries(
          Map.entry("recvQueueDepth", ONE_SIDED),
          Map.entry("recvWrSize", ONE_SIDED),
          Map.entry("swFlowControl", ONE_SIDED),
          Map.entry("maxBufferAllocationSize", POOL),
          Map.entry("preAllocateBuffers", POOL),
          Map.entry("device.num", "`spark.shuffle.rdma.device`"),
          Map.entry("useOdp", "`spark.shuffle.rdma.onDemand`"),
          Map.entry("collectOdpStats", METRICS),
          Map.entry("cpuList", AUTOMATIC),
          Map.entry("shuffleWriteBlockSize", AUTOMATIC),
          Map.entry("shuffleReadBlockSize", AUTOMATIC),
          Map.entry("maxBytesInFlight", "Spark's `spark.reducer.maxSizeInFlight`"),
          Map.entry("collectShuffleReaderStats", METRICS),
          Map.entry("fetchTimeBucketSizeInMs", METRICS),
          Map.entry("fetchTimeNumBuckets", METRICS),
          Map.entry("partitionLocationFetchTimeout", AUTOMATIC),
          Map.entry("driverPort", AUTOMATIC),
          Map.entry("executorPort", AUTOMATIC),
          Map.entry("rdmaCmEventTimeout", CONNECT),
          Map.entry("teardownListenTimeout", AUTOMATIC),
          Map.entry("resolvePathTimeout", CONNECT),
          Map.entry("maxConnectionAttempts", AUTOMATIC))));

  private SparkRdmaSettings() {}

  /**
   * Removes the settings of SparkRDMA from {@code conf}, and returns a sentence for each: it has no
   * effect here, and what to use instead.
   */
  static List<String> removeFrom(Map<String, String> conf) {
    List<String> notes = new ArrayList<>();
    INSTEAD.forEach((name, instead) -> {
      if (conf.remove(ShufflePlugin.PREFIX + name) != null) {
        notes.add(ShufflePlugin.PREFIX + name
            + " is a setting of SparkRDMA and has no effect here; remove it and use instead: "
            + instead);
      }
    });
    return notes;
  }
}
