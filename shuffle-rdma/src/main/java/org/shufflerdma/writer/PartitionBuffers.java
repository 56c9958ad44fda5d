/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The buffers of all partitions of a map task, in execution memory that Spark gives. All of them are spilled, to one
 * file, if Spark refuses more, and when another consumer of the task needs the memory.
 *
 * <p>For the thread of the task. Another thread of it may ask for memory, and gets none from here. Closed by the writer.
 */
final class PartitionBuffers extends MemoryConsumer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionBuffers.class);

  /**
   * What the buffers take before Spark is asked. A task can always go on with that much; the writer with a file for each of 200
   * partitions has 6 MiB of buffers.
   */
  private static final long FREE_BYTES = 1 << 20;

  /** The most that is asked for in advance. */
  private static final long MOST_AHEAD = 4 << 20;

  private final TaskContext context;
  private final BlockEncoding encoding;
  private final SpillFile.Maker files;
  private final Thread owner = Thread.currentThread();
  private final PartitionBuffer[] buffers;

  private long bytes;
  private long peakBytes;
  private @Nullable SpillFile spilled;

  /** While the buffers are spilled or written, and after that has failed: there is nothing to spill then. */
  private boolean busy;

  /** From the beginning of a spill to its end. Spark may hide from the task that one has failed, whose bytes are not whole then. */
  private boolean isSpilling;

  /** Nobody wants the map output any more. */
  private boolean discards;

  PartitionBuffers(
      TaskContext context, int partitions, BlockEncoding encoding, SpillFile.Maker files) {
    super(
        context.taskMemoryManager(),
        context.taskMemoryManager().pageSizeBytes(),
        MemoryMode.ON_HEAP);
    this.context = context;
    this.encoding = encoding;
    this.files = files;
    this.buffers = IntStream.range(0, partitions)
        .mapToObj(partition -> new PartitionBuffer(this))
        .toArray(PartitionBuffer[]::new);
  }

  BlockEncoding encoding() {
    return encoding;
  }

  PartitionBuffer of(int partition) {
    return buffers[partition];
  }

  /** Says that buffers have grown, and asks for memory. They may hold nothing afterwards. */
  void grew(long more) throws IOException {
    if (discards) {
      return;
    }
    bytes += more;
    peakBytes = Math.max(peakBytes, bytes - FREE_BYTES);
    if (bytes > FREE_BYTES + getUsed()) {
      long lacking = bytes - FREE_BYTES - getUsed();
      acquireMemory(lacking + Math.min(bytes, MOST_AHEAD));
    }
    if (bytes > FREE_BYTES + getUsed()) {
      spillAll();
    }
  }

  /** What is still written, such as the ends of streams, asks for no memory and spills nothing. */
  void discard() {
    discards = true;
  }

  @Override
  public long spill(long size, MemoryConsumer trigger) throws IOException {
    if (Thread.currentThread() != owner || busy || trigger == this) {
      return 0; // for what it lacks itself, grew() spills if Spark has not granted enough
    }
    return bytes <= FREE_BYTES ? release() : spillAll();
  }

  /** Moves everything to the file, and returns the bytes of memory that this has given back. */
  private long spillAll() throws IOException {
    checkWhole();
    busy = true;
    isSpilling = true;
    SpillFile file = spilled;
    if (file == null) {
      file = files.make(buffers.length);
      spilled = file;
    }
    long before = file.lengthBytes();
    for (int i = 0; i < buffers.length; i++) {
      if (!buffers[i].isEmpty()) {
        try (OutputStream out = file.append(i)) {
          buffers[i].moveTo(out);
        }
      }
    }
    long written = file.lengthBytes() - before;
    LOG.info("Task {} has spilled {} MiB of map output", context.taskAttemptId(), written >> 20);
    context.taskMetrics().incMemoryBytesSpilled(bytes);
    context.taskMetrics().incDiskBytesSpilled(written);
    bytes = 0;
    isSpilling = false;
    busy = false;
    return release();
  }

  private void checkWhole() throws IOException {
    if (isSpilling) {
      throw new IOException("an earlier spill of this map output has failed");
    }
  }

  /** What a spill that has failed has taken along is not known. */
  boolean isEmpty(int partition) {
    return !isSpilling
        && buffers[partition].isEmpty()
        && (spilled == null || spilled.isEmpty(partition));
  }

  /** Moves the bytes of a partition to a stream in their encoded form, in the order in which they were written. */
  void moveTo(int partition, OutputStream out) throws IOException {
    checkWhole();
    busy = true;
    if (spilled != null) {
      spilled.copyTo(partition, out);
    }
    buffers[partition].moveTo(out);
  }

  /** The most that was needed of Spark's memory. */
  long peakBytes() {
    return peakBytes;
  }

  private long release() {
    long released = getUsed();
    freeMemory(released);
    return released;
  }

  /** Gives back the memory, and deletes the file. */
  @Override
  public void close() {
    busy = true;
    release();
    if (spilled != null) {
      spilled.close();
      spilled = null;
    }
  }
}
