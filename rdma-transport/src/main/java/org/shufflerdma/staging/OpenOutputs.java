/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
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

  /** An output in use. Closing it ends the use. */
  final class Output implements AutoCloseable {
    private final CommittedOutputs.Files files;
    private final PartitionIndex index;
    private int uses; // guarded by OpenOutputs.this, as are the next
    private long lastUseNs;
    private boolean dropped;

    private Output(CommittedOutputs.Files files) throws IOException {
      this.files = files;
      this.index = PartitionIndex.open(files);
    }

    /** Where the partitions lie in the file; throws if the output does not have them. */
    PartitionIndex.Extent extentOf(StagedRange range) throws IOException {
      return index.extentOf(range.startPartition(), range.endPartition());
    }

    /** Fills the buffer with the bytes of the block from {@code fromByte} on. */
    void read(PartitionIndex.Extent extent, long fromByte, ByteBuffer into) throws IOException {
      byte[] head = extent.head();
      if (fromByte < head.length) {
        into.put(head, (int) fromByte, Math.min(head.length - (int) fromByte, into.remaining()));
      }
      long fromInFile = Math.max(0, fromByte - head.length);
      PartitionIndex.fill(files.data(), into, extent.start() + fromInFile);
    }

    @Override
    public void close() {
      endUse(this);
    }
  }

  private final CommittedOutputs outputs;
  private final Executor workers;
  private final int maxOpen = maxOpen(ProcessLimits.read().descriptors());
  private final Map<OutputName, Output> open =
      new LinkedHashMap<>(16, 0.75f, true); // guarded by this

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
  RegisteredOutput registered(OutputName name) {
    return name.isNumbered() ? outputs.registered(name.shuffleId(), name.mapId()) : null;
  }

  /** The output, which the caller, a worker, closes. Several may use the same one. */
  Output use(OutputName name) throws IOException {
    synchronized (this) {
      Output known = open.get(name);
      if (known != null) {
        known.uses++;
        return known;
      }
    }
    Output opened = open(name);
    Output used;
    Output surplus = opened;
    synchronized (this) {
      Output known = open.get(name);
      used = known == null ? opened : known;
      used.uses++;
      if (known == null) {
        open.put(name, opened);
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

  private Output open(OutputName name) throws IOException {
    CommittedOutputs.Files opened = name.open(outputs);
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
      OutputName name = entry.getKey();
      boolean isOfShuffle = name.isNumbered() && name.shuffleId() == shuffleId;
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
