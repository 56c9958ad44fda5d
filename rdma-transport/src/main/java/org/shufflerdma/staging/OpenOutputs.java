/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.verbs.ProcessLimits;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs that were read last, which stay open for the next request. The workers that open and read files
 * also close them: a file system that hangs keeps its readers waiting, and not whoever ends an application or a
 * shuffle. Workers use outputs; any thread may call the rest. The owner closes it when nobody reads any more.
 */
final class OpenOutputs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OpenOutputs.class);

  /**
   * Readers go through the outputs of a shuffle in turn, so if fewer stay open than there are, none is open when
   * it is wanted again. Each has two descriptors, of which other servers of the process need some, too.
   */
  private static final long SHARE_OF_MANY_DESCRIPTORS = 64;

  private static final long SHARE_OF_FEW_DESCRIPTORS = 16;
  private static final long MANY = 256;
  private static final long MOST_OPEN = 4096;

  /** So many partitions' offsets of an output stay in memory. */
  private static final int WINDOW = 64;

  private record Key(int shuffleId, long mapId) {}

  /** An output in use. Closing it ends the use. */
  final class Output implements AutoCloseable {
    private final CommittedOutputs.Files files;
    private final long dataBytes;
    private final int partitions;
    private volatile Window window = new Window(0, LongBuffer.allocate(0));
    private int uses; // guarded by OpenOutputs.this, as are the next
    private long lastUseNs;
    private boolean dropped;

    private Output(CommittedOutputs.Files files) throws IOException {
      this.files = files;
      this.dataBytes = files.data().size();
      long indexBytes = files.index().size();
      if (indexBytes < 2 * Long.BYTES || indexBytes % Long.BYTES != 0) {
        throw new IOException("an index of " + indexBytes + " bytes");
      }
      this.partitions = Math.toIntExact(indexBytes / Long.BYTES - 1);
      long end = offsetOf(partitions);
      if (end != dataBytes) {
        throw new IOException("the file has " + dataBytes + " bytes, and its index says " + end);
      }
    }

    /** Where the partitions lie in the file; throws if the output does not have them. */
    Extent extentOf(StagedRange range) throws IOException {
      if (range.endPartition() > partitions) {
        throw new IOException("partition " + range.endPartition() + " of " + partitions);
      }
      long start = offsetOf(range.startPartition());
      long end = offsetOf(range.endPartition());
      if (start < 0 || end < start || end > dataBytes) {
        throw new IOException("the index is damaged: bytes " + start + " to " + end);
      }
      return new Extent(start, end - start);
    }

    private long offsetOf(int partition) throws IOException {
      Window known = window;
      if (!known.has(partition)) {
        known = readWindow(partition);
        window = known;
      }
      return known.offsetOf(partition);
    }

    /** Reads the offsets near a partition's: those of its neighbours are the ones that are asked for next. */
    private Window readWindow(int partition) throws IOException {
      int first = partition - partition % WINDOW;
      int count = Math.min(WINDOW, partitions - first) + 1;
      ByteBuffer offsets = ByteBuffer.allocate(count * Long.BYTES);
      fill(files.index(), offsets, (long) first * Long.BYTES);
      return new Window(first, offsets.flip().asLongBuffer());
    }

    /** Fills the buffer with the bytes from {@code position} on. */
    void read(ByteBuffer into, long position) throws IOException {
      fill(files.data(), into, position);
    }

    private static void fill(FileChannel file, ByteBuffer into, long position) throws IOException {
      long at = position;
      while (into.hasRemaining()) {
        int count = file.read(into, at);
        if (count < 0) {
          throw new EOFException("the file ends at byte " + at);
        }
        at += count;
      }
    }

    @Override
    public void close() {
      endUse(this);
    }
  }

  /** The offsets of partitions that lie side by side. */
  private record Window(int first, LongBuffer offsets) {
    boolean has(int partition) {
      return partition >= first && partition - first < offsets.limit();
    }

    long offsetOf(int partition) {
      return offsets.get(partition - first);
    }
  }

  /** Where partitions lie in a file of data. */
  record Extent(long start, long lengthBytes) {}

  private final CommittedOutputs outputs;
  private final Executor workers;
  private final int maxOpen = maxOpen(ProcessLimits.read().descriptors());
  private final Map<Key, Output> open = new LinkedHashMap<>(16, 0.75f, true); // guarded by this

  /** @param workers close what others drop; if they do not take commands any more, whoever calls does */
  OpenOutputs(CommittedOutputs outputs, Executor workers) {
    this.outputs = outputs;
    this.workers = workers;
  }

  /** Returns how many outputs stay open in a process that may have so many descriptors. */
  static int maxOpen(long descriptors) {
    long few = Math.min(MANY, descriptors / SHARE_OF_FEW_DESCRIPTORS);
    return Math.toIntExact(
        Math.max(few, Math.min(MOST_OPEN, descriptors / SHARE_OF_MANY_DESCRIPTORS)));
  }

  /** Where the output can be read without being staged; null if it is not registered. */
  @Nullable
  RegisteredOutput registered(int shuffleId, long mapId) {
    return outputs.registered(shuffleId, mapId);
  }

  /** The output, which the caller, a worker, closes. Several may use the same one. */
  Output use(int shuffleId, long mapId) throws IOException {
    Key key = new Key(shuffleId, mapId);
    synchronized (this) {
      Output known = open.get(key);
      if (known != null) {
        known.uses++;
        return known;
      }
    }
    Output opened = open(key);
    Output used;
    Output surplus = opened;
    synchronized (this) {
      Output known = open.get(key);
      used = known == null ? opened : known;
      used.uses++;
      if (known == null) {
        open.put(key, opened);
        surplus = dropEldest();
      }
    }
    if (surplus != null) { // here, so that the next open has its descriptors
      close(surplus);
    }
    return used;
  }

  /** Guarded by this. Returns what is to be closed, if anything. */
  private @Nullable Output dropEldest() {
    if (open.size() <= maxOpen) {
      return null;
    }
    Iterator<Output> eldest = open.values().iterator();
    Output dropped = eldest.next();
    eldest.remove();
    return drop(dropped) ? dropped : null;
  }

  private Output open(Key key) throws IOException {
    CommittedOutputs.Files opened = outputs.open(key.shuffleId(), key.mapId());
    try {
      return new Output(opened);
    } catch (Throwable t) {
      opened.close();
      throw t;
    }
  }

  private void endUse(Output output) {
    boolean isLastOfAll;
    synchronized (this) {
      output.uses--;
      output.lastUseNs = System.nanoTime();
      isLastOfAll = output.dropped && output.uses == 0;
    }
    if (isLastOfAll) {
      close(output);
    }
  }

  /** Guarded by this. Returns whether the caller has to see to its end, as nobody uses it. */
  private boolean drop(Output output) {
    output.dropped = true;
    return output.uses == 0;
  }

  /** Guarded by this. */
  private void dropByWorker(Output output) {
    if (!drop(output)) {
      return;
    }
    try {
      workers.execute(() -> close(output));
    } catch (RejectedExecutionException | IllegalStateException e) {
      close(output);
    }
  }

  private static void close(Output output) {
    try {
      output.files.close();
    } catch (IOException e) {
      LOG.warn("A map output could not be closed", e);
    }
  }

  /** Closes what has not been used for so long: files that have been deleted keep their disk space until then. */
  synchronized void closeUnused(long longerThanNs) {
    long now = System.nanoTime();
    open.values().removeIf(output -> {
      boolean isUnused = output.uses == 0 && now - output.lastUseNs > longerThanNs;
      if (isUnused) {
        dropByWorker(output);
      }
      return isUnused;
    });
  }

  /**
   * Closes the outputs of a shuffle, whose files are about to be deleted. One that is opened before they are
   * is closed when it is not used any more. The shuffle can be written anew, under the same number.
   */
  synchronized void forgetShuffle(int shuffleId) {
    open.entrySet().removeIf(entry -> {
      boolean isOfShuffle = entry.getKey().shuffleId() == shuffleId;
      if (isOfShuffle) {
        dropByWorker(entry.getValue());
      }
      return isOfShuffle;
    });
  }

  @Override
  public synchronized void close() {
    open.values().forEach(this::dropByWorker);
    open.clear();
  }
}
