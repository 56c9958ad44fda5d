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
 * <p>It asks Spark for memory according to the estimated size of the records. The records in memory go to a
 * file if Spark refuses, and when another consumer of the task needs the memory of a sorter that has begun
 * to hand them out.
 *
 * <p>One thread at a time adds records and takes them; another thread of the task may ask for memory or end
 * the task. It ends with its last record, or with the task.
 */
public final class RecordSorter<K, V> extends MemoryConsumer {
  private static final Logger LOG = LoggerFactory.getLogger(RecordSorter.class);

  /** Spark's sorter, too, looks at its memory only with each of so many records. */
  private static final int RECORDS_OF_CHECK = 32;

  /** The keys of a chunk, and what they refer to, should fit the second level of the cache. */
  private static final int CHUNK_RECORDS = 16_384;

  private static final int FIRST_CHUNK_RECORDS = 256;
  private static final long MOST_RECORDS_AT_HAND = 256;
  private static final long MOST_BYTES_AT_HAND = 1 << 20;

  /** Spark has this setting since 4.1, and older versions have no entry for it. */
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

  /** The sorted chunks, some of which continue the one before, and the one that was sorted last. */
  private final List<Run> chunks = new ArrayList<>();

  private Run.@Nullable InMemory lastChunk;

  /** Their records arrived before those of the chunks. */
  private final List<SpilledRun> files = new ArrayList<>();

  /** The records in memory, and the bytes that they are estimated to take. */
  private long records;

  private long bytes;
  private long peakBytes;

  /** Beyond {@link #freeBytes}. */
  private long acquiredBytes;

  /**
   * Hands out the records; null until all have arrived, and after a failure or the end. What a spill
   * changes is guarded by this object from the time on when this is set.
   */
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
    try {
      while (arriving.hasNext()) {
        Product2<K, V> record = arriving.next();
        add(record._1(), record._2());
      }
      endChunk();
      startMerge();
    } catch (Throwable e) {
      close();
      throw e;
    }
    // Not before: the task may end while another of its threads still adds records. The listener of
    // a
    // task that has ended is called at once.
    context.addTaskCompletionListener(ended -> {
      close();
    });
    return new Sorted();
  }

  private void add(Object key, Object value) {
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
    bytes += sizes.change(keys, values, count);
    if (records > mostRecords || bytes > mostBytes) {
      spillAll();
    } else if (records % RECORDS_OF_CHECK == 0 && bytes >= freeBytes + acquiredBytes) {
      // As Spark's sorter does, for twice what the records take now.
      acquiredBytes += acquireMemory(2 * bytes - freeBytes - acquiredBytes);
      if (bytes >= freeBytes + acquiredBytes) {
        spillAll();
      }
    }
  }

  private void endChunk() {
    if (count == 0) {
      return;
    }
    Run.InMemory chunk = new Run.InMemory(keys, values, chunkSort.sort(keys, count), count);
    if (lastChunk != null && ordering.compare(lastChunk.lastKey(), chunk.firstKey()) <= 0) {
      lastChunk.continueWith(chunk);
    } else {
      chunks.add(chunk);
    }
    lastChunk = chunk;
    count = 0;
    sizes.startChunk();
  }

  private void spillAll() {
    endChunk();
    try {
      spill(new RunMerge(ordering, chunks), bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    forgetChunks();
    sizes.startOver();
    records = 0;
    bytes = 0;
    releaseMemory();
  }

  /** Also of the chunk that was filled last, whose arrays still refer to its records. */
  private void forgetChunks() {
    chunks.clear();
    lastChunk = null;
    keys = new Object[FIRST_CHUNK_RECORDS];
    values = new Object[FIRST_CHUNK_RECORDS];
  }

  /** Writes what is left of a merge of records in memory to a file. */
  private void spill(RunMerge inMemory, long estimatedBytes) throws IOException {
    SpilledRun file = SpilledRun.write(env, serializer, inMemory);
    files.add(file);
    LOG.info(
        "Task {} has spilled sorted records of about {} MiB to a file of {} MiB",
        context.taskAttemptId(),
        estimatedBytes >> 20,
        file.lengthBytes() >> 20);
    peakBytes = Math.max(peakBytes, estimatedBytes);
    context.taskMetrics().incMemoryBytesSpilled(estimatedBytes);
    context.taskMetrics().incDiskBytesSpilled(file.lengthBytes());
  }

  private synchronized void startMerge() {
    List<Run> runs = new ArrayList<>(files);
    runs.addAll(chunks);
    forgetChunks();
    try {
      merge = new RunMerge(ordering, runs);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
      merge = null; // if it fails, no other records are handed out
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
    RunMerge from = merge;
    if (from == null) {
      throw new IllegalStateException("the sort has failed before, or its task has ended");
    }
    merge = null; // if it fails, no other records are handed out
    int taken = from.take(toKeys, toValues);
    merge = from;
    return taken;
  }

  private synchronized void close() {
    merge = null;
    forgetChunks();
    releaseMemory();
    for (SpilledRun file : files) {
      try {
        file.close();
      } catch (RuntimeException e) {
        LOG.warn("The stream of a file of spilled records could not be closed", e);
      }
    }
    files.clear();
  }

  /** The records in order. Takes several small ones at a time, so that no lock is taken for each. */
  private final class Sorted extends AbstractIterator<Product2<K, V>> {
    private final Object[] keysAtHand;
    private final Object[] valuesAtHand;
    private int next;
    private int end;
    private boolean ended;

    Sorted() {
      long atHand = MOST_BYTES_AT_HAND / Math.max(1, sizes.largestBytesOfOne());
      keysAtHand = new Object[(int) Math.max(1, Math.min(MOST_RECORDS_AT_HAND, atHand))];
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
        end = 0;
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
      keysAtHand[next] = null;
      valuesAtHand[next] = null;
      next++;
      return record;
    }
  }
}
