/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Sorts the records of a reduce task by key, as Spark's {@code ExternalSorter} does without an aggregator:
 * in chunks, each of which is sorted while it is in the processor's cache, and by a merge while the records
 * are handed out. Records with equal keys come in the order in which they arrived.
 *
 * <p>It asks Spark for memory as the records are estimated to need it. The records in memory go to a file
 * if Spark refuses, and when another consumer of the task needs the memory of a sorter that has begun to
 * hand out.
 *
 * <p>One thread at a time adds records and takes them; another thread of the task may ask for memory. It
 * ends with its last record, or with the task.
 */
public final class RecordSorter<K, V> extends MemoryConsumer {
  private static final Logger LOG = LoggerFactory.getLogger(RecordSorter.class);

  /** The keys of a chunk, and what they refer to, should fit the second level of the cache. */
  private static final int CHUNK_RECORDS = 16_384;

  private static final int FIRST_CHUNK_RECORDS = 256;
  private static final long MOST_RECORDS_AT_HAND = 256;
  private static final long MOST_BYTES_AT_HAND = 1 << 20;

  /** Spark 4.1 has this setting. */
  private static final String MOST_BYTES = "spark.shuffle.spill.maxSizeInBytesForSpillThreshold";

  private final SparkEnv env;
  private final TaskContext context;
  private final SerializerInstance serializer;
  private final Comparator<Object> ordering;
  private final ChunkSort chunkSort;
  private final RecordSizes sizes = new RecordSizes();

  /** What the records in memory may take before Spark is asked. */
  private final long freeBytes;

  private final int mostRecords;
  private final long mostBytes;

  /** The chunk that is being filled. */
  private Object[] keys = new Object[FIRST_CHUNK_RECORDS];

  private Object[] values = new Object[FIRST_CHUNK_RECORDS];
  private int count;

  /** The sorted chunks, and the files, whose records arrived before those of the chunks. */
  private final List<Run> chunks = new ArrayList<>();

  private final List<SpilledRun> files = new ArrayList<>();

  /** The records in memory, and the bytes that they are estimated to take. */
  private long records;

  private long bytes;
  private long peakBytes;

  /** Beyond {@link #freeBytes}. */
  private long acquiredBytes;

  /** Hands out the records; null until all have arrived, and at the end. Guarded by this object. */
  private @Nullable RunMerge merge;

  /** @param ordering decides alone; what it throws fails the task */
  @SuppressWarnings("unchecked")
  public RecordSorter(
      SparkEnv env, TaskContext context, Serializer serializer, Comparator<K> ordering) {
    super(
        context.taskMemoryManager(),
        context.taskMemoryManager().pageSizeBytes(),
        MemoryMode.ON_HEAP);
    this.env = env;
    this.context = context;
    this.serializer = serializer.newInstance();
    this.ordering = (Comparator<Object>) ordering;
    this.chunkSort = new ChunkSort(this.ordering);
    this.freeBytes = (long) env.conf().get(package$.MODULE$.SHUFFLE_SPILL_INITIAL_MEM_THRESHOLD());
    this.mostRecords =
        (int) env.conf().get(package$.MODULE$.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD());
    this.mostBytes = env.conf().getSizeAsBytes(MOST_BYTES, Long.MAX_VALUE);
  }

  /**
   * Takes all records, and returns them in order. May be called once.
   *
   * @throws UncheckedIOException if a file of spilled records cannot be written or read
   */
  public Iterator<Product2<K, V>> sort(Iterator<? extends Product2<K, V>> arriving) {
    context.addTaskCompletionListener(ended -> {
      close();
    });
    try {
      while (arriving.hasNext()) {
        Product2<K, V> record = arriving.next();
        add(record._1(), record._2());
      }
      endChunk();
      startMerge();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new Sorted();
  }

  private void add(Object key, Object value) throws IOException {
    if (count == keys.length) {
      if (count == CHUNK_RECORDS) {
        endChunk();
      } else {
        keys = Arrays.copyOf(keys, 2 * count);
        values = Arrays.copyOf(values, 2 * count);
      }
    }
    keys[count] = key;
    values[count] = value;
    count++;
    records++;
    bytes += sizes.bytesOfLast(keys, values, count);
    if (bytes >= freeBytes + acquiredBytes || bytes >= mostBytes || records > mostRecords) {
      growOrSpill();
    }
  }

  private void endChunk() {
    if (count > 0) {
      chunks.add(new Run.InMemory(keys, values, chunkSort.sort(keys, count), count));
      count = 0;
      sizes.startChunk();
    }
  }

  private void growOrSpill() throws IOException {
    if (bytes < mostBytes && records <= mostRecords) {
      // As Spark's sorter does, for twice what the records take now.
      acquiredBytes += acquireMemory(2 * bytes - freeBytes - acquiredBytes);
      if (bytes < freeBytes + acquiredBytes) {
        return;
      }
    }
    endChunk();
    spill(new RunMerge(ordering, chunks), bytes);
    forgetChunks();
    records = 0;
    bytes = 0;
    releaseMemory();
  }

  /** Also of the chunk that was filled last, whose arrays still refer to its records. */
  private void forgetChunks() {
    chunks.clear();
    keys = new Object[FIRST_CHUNK_RECORDS];
    values = new Object[FIRST_CHUNK_RECORDS];
  }

  /** Writes what is left of a merge of records in memory to a file. */
  private void spill(RunMerge inMemory, long estimatedBytes) throws IOException {
    SpilledRun file = SpilledRun.write(env, serializer, inMemory);
    files.add(file);
    LOG.info(
        "Task {} has written sorted records of some {} MiB to a file of {} MiB, as there is no more"
            + " memory for them",
        context.taskAttemptId(),
        estimatedBytes >> 20,
        file.lengthBytes() >> 20);
    peakBytes = Math.max(peakBytes, estimatedBytes);
    context.taskMetrics().incMemoryBytesSpilled(estimatedBytes);
    context.taskMetrics().incDiskBytesSpilled(file.lengthBytes());
  }

  private synchronized void startMerge() throws IOException {
    List<Run> runs = new ArrayList<>(files);
    runs.addAll(chunks);
    forgetChunks();
    merge = new RunMerge(ordering, runs);
    context.taskMetrics().incPeakExecutionMemory(Math.max(peakBytes, bytes));
  }

  /**
   * Writes the records in memory to a file if they are being handed out already. Until then, as with
   * Spark's sorter, they stay.
   */
  @Override
  public synchronized long spill(long size, MemoryConsumer trigger) throws IOException {
    if (trigger == this || merge == null || acquiredBytes == 0) {
      return 0;
    }
    List<Run> inMemory = new ArrayList<>(merge.left());
    inMemory.removeAll(files);
    if (!inMemory.isEmpty()) {
      List<Run> left = new ArrayList<>(merge.left());
      left.removeAll(inMemory);
      merge = null; // if the records cannot be written, no others are handed out without them
      spill(new RunMerge(ordering, inMemory), acquiredBytes);
      left.add(files.get(files.size() - 1));
      merge = new RunMerge(ordering, left);
    }
    return releaseMemory();
  }

  private long releaseMemory() {
    long released = acquiredBytes;
    acquiredBytes = 0;
    freeMemory(released);
    return released;
  }

  private synchronized int takeSome(Object[] toKeys, Object[] toValues) throws IOException {
    if (merge == null) {
      throw new IOException("records that were being spilled have been lost");
    }
    return merge.take(toKeys, toValues);
  }

  private synchronized void close() {
    merge = null;
    forgetChunks();
    files.forEach(SpilledRun::close);
    files.clear();
    releaseMemory();
  }

  /** The records in order. Takes several small ones at a time, so that no lock is taken for each. */
  private final class Sorted extends AbstractIterator<Product2<K, V>> {
    private final Object[] keysAtHand;
    private final Object[] valuesAtHand;
    private int next;
    private int end;
    private boolean ended;

    Sorted() {
      long atHand = Math.min(MOST_RECORDS_AT_HAND, MOST_BYTES_AT_HAND / sizes.bytesOfOne());
      keysAtHand = new Object[(int) Math.max(1, atHand)];
      valuesAtHand = new Object[keysAtHand.length];
    }

    @Override
    public boolean hasNext() {
      if (next < end) {
        return true;
      }
      if (ended) {
        return false;
      }
      try {
        next = 0;
        end = takeSome(keysAtHand, valuesAtHand);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      if (end == 0) {
        ended = true;
        close();
      }
      return !ended;
    }

    @Override
    @SuppressWarnings("unchecked")
    public Product2<K, V> next() {
      if (!hasNext()) {
        throw new NoSuchElementException("no more records");
      }
      Product2<K, V> record = new Tuple2<>((K) keysAtHand[next], (V) valuesAtHand[next]);
      next++;
      return record;
    }
  }
}
