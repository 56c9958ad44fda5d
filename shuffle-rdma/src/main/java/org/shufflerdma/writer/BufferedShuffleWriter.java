/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.checksum.ShuffleChecksumHelper;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Writes a map output in one pass: the records of each partition are serialized into a buffer of its own, and when all have
 * come the file is made of the buffers, through Spark's own writer of files, index and checksums. It is for shuffles that combine
 * nothing on the map side. One per map task, for the task's thread.
 */
public final class BufferedShuffleWriter<K, V> extends ShuffleWriter<K, V> {
  private final MapOutputFiles files;
  private final ShuffleDependency<K, V, ?> dependency;
  private final long mapId;
  private final TaskContext context;
  private final ShuffleWriteMetricsReporter metrics;
  private final int partitions;
  private final PartitionBuffers buffers;
  private final @Nullable RecordChecksums recordChecksums;

  private long[] lengths = {};
  private long[] checksums = {};
  private @Nullable MapStatus status;
  private boolean stopped;

  public BufferedShuffleWriter(
      MapOutputFiles files,
      ShuffleDependency<K, V, ?> dependency,
      long mapId,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics) {
    this.files = files;
    this.dependency = dependency;
    this.mapId = mapId;
    this.context = context;
    this.metrics = metrics;
    this.partitions = dependency.partitioner().numPartitions();
    this.buffers = new PartitionBuffers(
        context, partitions, files.newEncoding(dependency.shuffleId(), mapId), files::newSpillFile);
    this.recordChecksums = RecordChecksums.of(dependency);
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    try {
      long count = serialize(records);
      metrics.incRecordsWritten(count);
      writeOutput(count > 0);
    } finally {
      context.taskMetrics().incPeakExecutionMemory(buffers.peakBytes());
      buffers.close();
    }
  }

  private void writeOutput(boolean any) throws IOException {
    long startNs = System.nanoTime();
    ShuffleMapOutputWriter output = files.newOutput(dependency.shuffleId(), mapId, partitions);
    try {
      checksums = any ? writeBlocks(output) : ShuffleChecksumHelper.EMPTY_CHECKSUM_VALUE;
      lengths = output.commitAllPartitions(checksums).getPartitionLengths();
    } catch (Throwable e) {
      abort(output, e);
      throw e;
    }
    metrics.incWriteTime(System.nanoTime() - startNs);
    status = files.newStatus(lengths, mapId, recordChecksums == null ? 0 : recordChecksums.total());
  }

  /**
   * Deletes the file. Spark writes what its buffer holds before (LocalDiskShuffleMapOutputWriter.cleanUp), which fails if
   * the disk is full, and leaves the file. At the second attempt the buffer is closed.
   */
  private static void abort(ShuffleMapOutputWriter output, Throwable cause) {
    for (int attempt = 0; attempt < 2; attempt++) {
      try {
        output.abort(cause);
        return;
      } catch (IOException | RuntimeException e) {
        cause.addSuppressed(e);
      }
    }
  }

  /** Returns the number of records. */
  private long serialize(Iterator<Product2<K, V>> records) throws IOException {
    try (RecordStreams streams = RecordStreams.of(dependency.serializer(), buffers, partitions)) {
      try {
        return serialize(records, streams);
      } catch (Throwable t) {
        // To end its streams, a task that has failed or been killed must not wait for memory.
        buffers.discard();
        throw t;
      }
    }
  }

  private long serialize(Iterator<Product2<K, V>> records, RecordStreams streams)
      throws IOException {
    Partitioner partitioner = dependency.partitioner();
    RecordChecksums known = recordChecksums;
    long count = 0;
    while (records.hasNext()) {
      Product2<K, V> record = records.next();
      K key = record._1();
      V value = record._2();
      int partition = partitioner.getPartition(key);
      streams.write(partition, key, value);
      if (known != null) {
        known.add(partition, key, value);
      }
      count++;
    }
    return count;
  }

  /** Returns the checksums of the blocks, or an empty array if Spark keeps none. */
  private long[] writeBlocks(ShuffleMapOutputWriter output) throws IOException {
    Checksum checksum = files.newChecksum();
    long[] values = new long[checksum == null ? 0 : partitions];
    for (int i = 0; i < partitions; i++) {
      var partition = output.getPartitionWriter(i);
      if (checksum != null) {
        checksum.reset();
      }
      if (!buffers.isEmpty(i)) {
        OutputStream file = partition.openStream();
        try (OutputStream block = buffers
            .encoding()
            .open(checksum == null ? file : new CheckedOutputStream(file, checksum))) {
          buffers.moveTo(i, block);
        }
        metrics.incBytesWritten(partition.getNumBytesWritten());
      }
      if (checksum != null) {
        values[i] = checksum.getValue();
      }
    }
    return values;
  }

  /** The checksums of the committed blocks as in Spark's file of them; an empty array if there is none. */
  public long[] checksums() {
    return checksums;
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    buffers.close();
    boolean first = !stopped;
    stopped = true;
    if (!first || !success) {
      return Option.empty();
    }
    if (status == null) {
      throw new IllegalStateException(
          "write() has made no map output that stop(true) could return");
    }
    return Option.apply(status);
  }

  @Override
  public long[] getPartitionLengths() {
    return lengths;
  }
}
