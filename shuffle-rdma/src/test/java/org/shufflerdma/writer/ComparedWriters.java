/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's shuffle, in which each map task writes its records a second time, with the plugin's writer. */
public final class ComparedWriters extends SortShuffleManager {
  /** The second output of a task has the number of its first one and this. */
  private static final long SECOND = 1L << 40;

  /** And a third one, which fails. */
  private static final long FAILED = 1L << 41;

  /**
   * What a task has found.
   *
   * @param sameBytes whether both data files are the same, byte by byte
   * @param toldChecksums whether the plugin's writer tells the checksums that its file of them has
   * @param nothingLeft whether there is no spilled file and no execution memory after a write, and after one whose records
   *     fail half-way
   * @param statusOnce whether the plugin's writer returns its status once, and refuses to do so before it has written
   */
  record Comparison(
      String sparks,
      boolean sameRecords,
      boolean sameBytes,
      boolean sameChecksums,
      boolean toldChecksums,
      boolean sameMetrics,
      boolean nothingLeft,
      boolean statusOnce,
      long spilledBytes) {}

  static final List<Comparison> COMPARISONS = new CopyOnWriteArrayList<>();

  /** Another consumer takes all memory about once in so many records; 0 for never. */
  static volatile int recordsPerTheft;

  private final SparkConf conf;

  public ComparedWriters(SparkConf conf) {
    super(conf);
    this.conf = conf;
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> sparks = super.getWriter(handle, mapId, context, metrics);
    @SuppressWarnings("unchecked")
    ShuffleDependency<K, V, ?> shuffle = ((BaseShuffleHandle<K, V, ?>) handle).dependency();
    ShuffleWriteMetrics ours = new ShuffleWriteMetrics();
    MapOutputFiles files = new MapOutputFiles(SparkEnv.get(), shuffleBlockResolver());
    BufferedShuffleWriter<K, V> writer =
        new BufferedShuffleWriter<>(files, shuffle, mapId + SECOND, context, ours);
    return new ShuffleWriter<>() {
      private Option<MapStatus> status = Option.empty();

      private ShuffleWriter<K, V> newWriter(long number) {
        return new BufferedShuffleWriter<>(
            files, shuffle, number, context, new ShuffleWriteMetrics());
      }

      private boolean refusesStop(ShuffleWriter<K, V> unused) {
        try {
          unused.stop(true);
          return false;
        } catch (IllegalStateException e) {
          return true;
        }
      }

      @Override
      public void write(Iterator<Product2<K, V>> records) throws IOException {
        List<Product2<K, V>> all = new ArrayList<>(CollectionConverters.asJava(records.toSeq()));
        sparks.write(CollectionConverters.asScala(all.iterator()));
        sparks.stop(true);
        long spilled = context.taskMetrics().diskBytesSpilled();
        writer.write(new Robbed<>(all, all.size(), context));
        status = writer.stop(true);
        long spilledByOurs = context.taskMetrics().diskBytesSpilled() - spilled;
        boolean nothingLeft = nothingLeft(context);
        ShuffleWriter<K, V> failing = newWriter(mapId + FAILED);
        try {
          failing.write(new Robbed<>(all, all.size() / 2, context));
          nothingLeft &= all.isEmpty();
        } catch (IllegalStateException e) {
          failing.stop(false);
          nothingLeft &= nothingLeft(context) && dataOf(shuffle, mapId + FAILED).length == 0;
        }
        ShuffleWriteMetrics theirs = context.taskMetrics().shuffleWriteMetrics();
        COMPARISONS.add(new Comparison(
            sparks.getClass().getSimpleName(),
            recordsOf(shuffle, mapId, sparks).equals(recordsOf(shuffle, mapId + SECOND, writer)),
            Arrays.equals(dataOf(shuffle, mapId), dataOf(shuffle, mapId + SECOND)),
            Arrays.equals(checksumsOf(shuffle, mapId), checksumsOf(shuffle, mapId + SECOND)),
            Arrays.equals(bytesOf(writer.checksums()), checksumsOf(shuffle, mapId + SECOND)),
            ours.recordsWritten() == theirs.recordsWritten()
                && ours.bytesWritten()
                    == Arrays.stream(writer.getPartitionLengths()).sum(),
            nothingLeft,
            writer.stop(true).isEmpty() && refusesStop(newWriter(mapId + FAILED)),
            spilledByOurs));
      }

      @Override
      public Option<MapStatus> stop(boolean success) {
        return success ? status : sparks.stop(false);
      }

      @Override
      public long[] getPartitionLengths() {
        return sparks.getPartitionLengths();
      }
    };
  }

  private byte[] dataOf(ShuffleDependency<?, ?, ?> shuffle, long mapId) throws IOException {
    return bytesOf(shuffleBlockResolver().getDataFile(shuffle.shuffleId(), mapId));
  }

  private static boolean nothingLeft(TaskContext context) {
    return context.taskMemoryManager().getMemoryConsumptionForThisTask() == 0
        && CollectionConverters.asJava(
                SparkEnv.get().blockManager().diskBlockManager().getAllFiles())
            .stream()
            .noneMatch(file -> file.getName().startsWith("temp_shuffle"));
  }

  private static byte[] bytesOf(long[] words) {
    ByteBuffer bytes = ByteBuffer.allocate(words.length * Long.BYTES);
    bytes.asLongBuffer().put(words);
    return bytes.array();
  }

  /** There is no file for an output without bytes. */
  private static byte[] bytesOf(File file) throws IOException {
    return file.exists() ? Files.readAllBytes(file.toPath()) : new byte[0];
  }

  private byte[] checksumsOf(ShuffleDependency<?, ?, ?> shuffle, long mapId) throws IOException {
    return bytesOf(shuffleBlockResolver()
        .getChecksumFile(
            shuffle.shuffleId(),
            mapId,
            conf.get("spark.shuffle.checksum.algorithm"),
            Option.<String[]>empty()));
  }

  /** Reads the blocks of a file as a reduce task does: the records of each partition as they come, with their values' hashes. */
  private Map<Integer, List<String>> recordsOf(
      ShuffleDependency<?, ?, ?> shuffle, long mapId, ShuffleWriter<?, ?> writer)
      throws IOException {
    byte[] data = dataOf(shuffle, mapId);
    Map<Integer, List<String>> found = new HashMap<>();
    int offset = 0;
    for (int i = 0; i < writer.getPartitionLengths().length; i++) {
      int length = (int) writer.getPartitionLengths()[i];
      if (length > 0) {
        List<String> records = new ArrayList<>();
        var stream = SparkEnv.get()
            .serializerManager()
            .wrapStream(
                new ShuffleBlockId(shuffle.shuffleId(), mapId, i),
                new ByteArrayInputStream(data, offset, length));
        shuffle
            .serializer()
            .newInstance()
            .deserializeStream(stream)
            .asKeyValueIterator()
            .foreach(record -> records.add(record._1() + " " + hashOf(record._2())));
        found.put(i, records);
      }
      offset += length;
    }
    if (offset != data.length) {
      throw new IOException("the lengths add up to " + offset + " of " + data.length + " bytes");
    }
    return found;
  }

  private static int hashOf(Object value) {
    return value instanceof byte[] bytes ? Arrays.hashCode(bytes) : value.hashCode();
  }

  /**
   * Gives records, and fails after some of them if there are more. Meanwhile another consumer of the task's memory takes all of it
   * and gives it back, now and then, in the task's thread and in another one.
   */
  private static final class Robbed<T> extends AbstractIterator<T> {
    private final List<T> records;
    private final int end;
    private final MemoryConsumer thief;
    private final Random random;
    private int next;

    Robbed(List<T> records, int end, TaskContext context) {
      this.records = records;
      this.end = end;
      this.random = new Random(context.partitionId());
      this.thief = new MemoryConsumer(context.taskMemoryManager(), MemoryMode.ON_HEAP) {
        @Override
        public long spill(long size, MemoryConsumer trigger) {
          return 0;
        }
      };
    }

    @Override
    public boolean hasNext() {
      if (next == end) {
        thief.freeMemory(thief.getUsed());
      }
      return next < records.size();
    }

    @Override
    public T next() {
      if (next == end) {
        throw new IllegalStateException("no more records than half");
      }
      if (recordsPerTheft > 0 && random.nextInt(recordsPerTheft) == 0) {
        if (thief.getUsed() > 0) {
          thief.freeMemory(thief.getUsed());
        } else if (random.nextBoolean()) {
          steal();
        } else {
          CompletableFuture.runAsync(this::steal).join();
        }
      }
      return records.get(next++);
    }

    private void steal() {
      thief.acquireMemory(Runtime.getRuntime().maxMemory());
    }
  }
}
