/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.mapoutput.PartitionChecksums;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Spark's shuffle, recording what would be published for each committed output. */
public final class ChecksumRecordingManager extends SortShuffleManager {
  /** What one map output would be published with, and what its file holds. */
  @SuppressWarnings("ArrayRecordComponent")
  record Observation(
      String writer,
      int @Nullable [] published,
      int[] ofTheBytes,
      long spilledBytes,
      @Nullable Exception error) {}

  static final List<Observation> OBSERVATIONS = new CopyOnWriteArrayList<>();

  private final SparkConf conf;

  public ChecksumRecordingManager(SparkConf conf) {
    super(conf);
    this.conf = conf;
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
    CommittedOutputPublisher.Task task = new CommittedOutputPublisher.Task(
        handle.shuffleId(),
        mapId,
        handle instanceof SerializedShuffleHandle,
        context,
        () -> new long[0],
        reason -> {});
    return new ShuffleWriter<>() {
      @Override
      public void write(Iterator<Product2<K, V>> records) throws IOException {
        writer.write(records);
      }

      @Override
      public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = writer.stop(success);
        if (success) {
          OBSERVATIONS.add(
              observe(task, writer.getClass().getSimpleName(), writer.getPartitionLengths()));
        }
        return status;
      }

      @Override
      public long[] getPartitionLengths() {
        return writer.getPartitionLengths();
      }
    };
  }

  private Observation observe(CommittedOutputPublisher.Task task, String writer, long[] lengths) {
    long spilledBytes = task.context().taskMetrics().diskBytesSpilled();
    try {
      File dataFile = shuffleBlockResolver().getDataFile(task.shuffleId(), task.mapId());
      PartitionChecksums checksums = ChecksumSource.of(conf, ChecksumMode.AUTO)
          .checksumsOf(task, shuffleBlockResolver(), dataFile, lengths);
      return new Observation(
          writer,
          checksums.values(),
          checksumsOf(dataFile, lengths, checksums),
          spilledBytes,
          null);
    } catch (IOException e) {
      return new Observation(writer, null, new int[0], spilledBytes, e);
    }
  }

  private static int[] checksumsOf(File file, long[] lengths, PartitionChecksums like)
      throws IOException {
    int[] values = new int[lengths.length];
    try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
      for (int i = 0; i < lengths.length; i++) {
        byte[] bytes = new byte[Math.toIntExact(lengths[i])];
        in.readFully(bytes);
        Checksum checksum = like.algorithm().newChecksum();
        checksum.update(bytes, 0, bytes.length);
        values[i] = (int) checksum.getValue();
      }
    }
    return values;
  }
}
