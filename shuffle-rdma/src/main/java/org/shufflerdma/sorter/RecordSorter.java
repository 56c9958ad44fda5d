/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.LongSupplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
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
public final class RecordSorter<K, V> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RecordSorter.class);

  private static final long MOST_RECORDS_AT_HAND = 256;
  private static final long MOST_BYTES_AT_HAND = 1 << 20;

  /** Spark has this setting since 4.1, and older versions have no entry for it. */
  private static final String MOST_BYTES = "spark.shuffle.spill.maxSizeInBytesForSpillThreshold";

  /**
   * The sorter as Spark's memory manager sees it, which keeps each consumer until the task ends: a task may
   * have thousands of sorters, one after the other.
   */
  private static final class Memory extends MemoryConsumer {
    private volatile @Nullable RecordSorter<?, ?> sorter;

    Memory(TaskMemoryManager manager, RecordSorter<?, ?> sorter) {
      super(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP);
      this.sorter = sorter;
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) throws IOException {
      RecordSorter<?, ?> owner = sorter;
      return owner == null || trigger == this ? 0 : owner.spillWhatIsHandedOut();
    }

    long release() {
      long released = getUsed();
      freeMemory(released);
      return released;
    }
  }

  private final SparkEnv env;
  private final TaskContext context;
  private final SerializerInstance serializer;
  private final Comparator<Object> ordering;
  private final Acquired openOfTask;

  /** What was acquired beyond {@link #freeBytes}. */
  private final Memory memory;

  /** What the records in memory may take before Spark is asked. */
  private final long freeBytes;

  private final int mostRecords;
  private final long mostBytes;

  /** Their records arrived before those in memory. */
  private final List<SpilledRun> files = new ArrayList<>();

  private long peakBytes;

  /**
   * Hands out the records; null until all have arrived, and after a failure or the end. What a spill
   * changes is guarded by this object from the time on when this is set.
   */
  private @Nullable RunMerge merge;

  /**
   * @param ordering decides alone; what it throws fails the task
   * @param openOfTask keeps this from the time on when records are handed out, and closes it
   */
  @SuppressWarnings("unchecked")
  public RecordSorter(
      SparkEnv env,
      TaskContext context,
      Serializer serializer,
      Comparator<K> ordering,
      Acquired openOfTask) {
    this.env = env;
    this.context = context;
    this.serializer = serializer.newInstance();
    this.ordering = (Comparator<Object>) ordering;
    this.openOfTask = openOfTask;
    this.memory = new Memory(context.taskMemoryManager(), this);
    this.freeBytes = (long) env.conf().get(package$.MODULE$.SHUFFLE_SPILL_INITIAL_MEM_THRESHOLD());
    this.mostRecords =
        (int) env.conf().get(package$.MODULE$.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD());
    this.mostBytes = env.conf().getSizeAsBytes(MOST_BYTES, Long.MAX_VALUE);
  }

  /**
   * Takes all records, and returns them in order. May be called once.
   *
   * @param bytesRead the serialized bytes from which the records so far were made, and perhaps some more
   * @throws IOException if a file of spilled records cannot be written or read; the iterator throws it, too
   */
  public Iterator<Product2<K, V>> sort(
      Iterator<? extends Product2<K, V>> arriving, LongSupplier bytesRead) throws IOException {
    SortedChunks chunks = new SortedChunks(ordering);
    try {
      long before = bytesRead.getAsLong();
      while (arriving.hasNext()) {
        Product2<K, V> record = arriving.next();
        long now = bytesRead.getAsLong();
        chunks.add(record._1(), record._2(), now - before);
        before = now;
        if (!mayKeep(chunks)) {
          spill(chunks);
        }
      }
      startMerge(chunks);
    } catch (Throwable e) {
      close();
      throw e;
    }
    // Not before: the task may end while another of its threads still adds records.
    openOfTask.keep(this);
    return new Sorted(chunks.largestBytesOfOne());
  }

  /** Whether the records may stay in memory, for which Spark is asked if need be. */
  private boolean mayKeep(SortedChunks chunks) {
    long bytes = chunks.bytes();
    if (chunks.records() > mostRecords || bytes > mostBytes) {
      return false;
    }
    if (bytes >= freeBytes + memory.getUsed()) {
      // As Spark's sorter does, for twice what the records take now.
      memory.acquireMemory(2 * bytes - freeBytes - memory.getUsed());
    }
    return bytes < freeBytes + memory.getUsed();
  }

  private void spill(SortedChunks chunks) throws IOException {
    long bytes = chunks.bytes();
    spill(new RunMerge(ordering, chunks.take()), bytes);
    memory.release();
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

  private synchronized void startMerge(SortedChunks chunks) throws IOException {
    context.taskMetrics().incPeakExecutionMemory(Math.max(peakBytes, chunks.bytes()));
    List<Run> runs = new ArrayList<>(files);
    runs.addAll(chunks.take());
    merge = new RunMerge(ordering, runs);
  }

  /**
   * Writes the records in memory to a file if they are being handed out already, and returns the bytes that
   * this has given back. Until then, as with Spark's sorter, they stay.
   */
  private synchronized long spillWhatIsHandedOut() throws IOException {
    if (merge == null || memory.getUsed() == 0) {
      return 0;
    }
    List<Run> inMemory = new ArrayList<>(merge.left());
    inMemory.removeAll(files);
    if (!inMemory.isEmpty()) {
      List<Run> left = new ArrayList<>(merge.left());
      left.removeAll(inMemory);
      merge = null; // if it fails, no other records are handed out
      spill(new RunMerge(ordering, inMemory), memory.getUsed());
      left.add(files.get(files.size() - 1));
      merge = new RunMerge(ordering, left);
    }
    return memory.release();
  }

  /** The memory that Spark has given, and would be asked to give back first. */
  MemoryConsumer memory() {
    return memory;
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

  @Override
  public synchronized void close() {
    merge = null;
    memory.release();
    memory.sorter = null;
    for (SpilledRun file : files) {
      try {
        file.close();
      } catch (RuntimeException | Error e) {
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

    Sorted(long largestBytesOfOne) {
      long atHand = MOST_BYTES_AT_HAND / Math.max(1, largestBytesOfOne);
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
        throw Unchecked.thrown(e); // as Spark's own sorter does
      }
      if (end == 0) {
        ended = true;
        openOfTask.giveBack(RecordSorter.this);
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
