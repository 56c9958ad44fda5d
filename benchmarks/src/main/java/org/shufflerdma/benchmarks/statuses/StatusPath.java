/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.statuses;

import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockStatus;
import org.apache.spark.storage.BroadcastBlockId;
import org.shufflerdma.benchmarks.commit.Cost;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import scala.Option;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The way of a shuffle's map statuses from the results of its tasks into the driver's heap, and from there into a reader's.
 * Not thread-safe, and nothing else may use the heap while it is measured.
 *
 * @param serializer that of the results
 * @param partitions of each map output
 */
record StatusPath(SparkConf conf, SerializerInstance serializer, int partitions) {
  static final ClassTag<MapStatus> STATUS = ClassTag$.MODULE$.apply(MapStatus.class);

  private static final double KB = 1e3;
  private static final double MS = 1e6;

  /** Arrays that are in the heap at a time, which makes what else changes there small beside them. */
  private static final int ARRAYS = 4;

  /** Takes all statuses that way, and returns the figures. */
  Map<String, Double> follow(List<ByteBuffer> taskResults, boolean areLocated) {
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put(
        "status in a task result, bytes",
        taskResults.stream().mapToInt(ByteBuffer::remaining).average().orElse(0));
    MapStatus[] statuses = arrive(taskResults, figures);
    Cost start = Cost.now();
    Tuple2<byte[], Broadcast<byte[][]>> sent = MapOutputTracker.serializeOutputStatuses(
        statuses,
        SparkEnv.get().broadcastManager(),
        false,
        (int) conf.getSizeAsBytes("spark.shuffle.mapOutput.minSizeForBroadcast", "512k"),
        conf);
    Cost serialized = Cost.now();
    MapStatus[] decoded = MapOutputTracker.deserializeOutputStatuses(sent._1(), conf);
    Cost end = Cost.now();
    check(statuses, decoded, areLocated);
    figures.put("sent to a reader, KB", sentBytes(sent) / KB);
    put(figures, "serialize", serialized.minus(start));
    put(figures, "decode", end.minus(serialized));
    if (sent._2() != null) {
      // Otherwise it would go later, while the heap is measured.
      sent._2().destroy(true);
    }
    return figures;
  }

  /** Returns what the driver makes of the results of all tasks. */
  private MapStatus[] arrive(List<ByteBuffer> taskResults, Map<String, Double> figures) {
    long before = usedHeapBytes();
    MapStatus[][] arrays = new MapStatus[ARRAYS][taskResults.size()];
    for (MapStatus[] array : arrays) {
      Arrays.setAll(array, map -> serializer.deserialize(taskResults.get(map).duplicate(), STATUS));
    }
    try {
      figures.put("driver's heap, KB", (usedHeapBytes() - before) / KB / ARRAYS);
    } finally {
      Reference.reachabilityFence(arrays);
    }
    return arrays[0];
  }

  private static void put(Map<String, Double> figures, String what, Cost cost) {
    figures.put("time to %s, ms".formatted(what), cost.wallNs() / MS);
    figures.put("CPU to %s, ms".formatted(what), cost.cpuNs() / MS);
  }

  private static long usedHeapBytes() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  /** The reply to a reader, and the pieces of the broadcast variable that it names, if it does. */
  private static long sentBytes(Tuple2<byte[], Broadcast<byte[][]>> sent) {
    long bytes = sent._1().length;
    for (int piece = 0; sent._2() != null; piece++) {
      Option<BlockStatus> status = SparkEnv.get()
          .blockManager()
          .getStatus(new BroadcastBlockId(sent._2().id(), "piece" + piece));
      if (status.isEmpty()) {
        break;
      }
      bytes += status.get().memSize() + status.get().diskSize();
    }
    return bytes;
  }

  private void check(MapStatus[] statuses, MapStatus[] decoded, boolean areLocated) {
    for (int map = 0; map < statuses.length; map++) {
      BlockManagerId owner = decoded[map].location();
      Optional<MapOutputTrailer> trailer = MapStatusCarrier.read(decoded[map], partitions);
      if (!owner.equals(statuses[map].location())
          || !trailer.equals(MapStatusCarrier.read(statuses[map], partitions))
          || trailer.isPresent() != areLocated
          || PublishedEndpoint.of(owner).isPresent() != areLocated) {
        throw new IllegalStateException("status " + map + " came with another location");
      }
    }
  }
}
