/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs that were read last, which stay open for the next request. Any thread may call. The owner
 * closes it when nobody reads any more.
 */
final class OpenOutputs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OpenOutputs.class);
  private static final int MAX_OPEN = 256;
  private static final int MAX_INDEX_BYTES = 1 << 30;

  private record Key(int shuffleId, long mapId) {}

  /** An output in use. Closing it ends the use. */
  final class Output implements AutoCloseable {
    private final FileChannel data;
    private final long[] offsets;
    private int uses; // guarded by OpenOutputs.this, as is the next
    private boolean dropped;

    private Output(FileChannel data, long[] offsets) {
      this.data = data;
      this.offsets = offsets;
    }

    /** Where the partitions begin; throws if the output does not have them. */
    long startOf(StagedRange range) throws IOException {
      if (range.endPartition() >= offsets.length) {
        throw new IOException("partition " + range.endPartition() + " of " + (offsets.length - 1));
      }
      return offsets[range.startPartition()];
    }

    /** How many bytes the partitions have, which the output has. */
    long lengthOf(StagedRange range) {
      return offsets[range.endPartition()] - offsets[range.startPartition()];
    }

    /** Fills the buffer with the bytes from {@code position} on. */
    void read(ByteBuffer into, long position) throws IOException {
      long at = position;
      while (into.hasRemaining()) {
        int count = data.read(into, at);
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

  private final CommittedOutputs files;
  private final Map<Key, Output> open = new LinkedHashMap<>(16, 0.75f, true); // guarded by this

  OpenOutputs(CommittedOutputs files) {
    this.files = files;
  }

  /** The output, which the caller closes. It is another's business as well. */
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
    synchronized (this) {
      Output known = open.putIfAbsent(key, opened);
      if (known != null) {
        close(opened);
        known.uses++;
        return known;
      }
      opened.uses++;
      if (open.size() > MAX_OPEN) {
        Iterator<Output> eldest = open.values().iterator();
        Output dropped = eldest.next();
        eldest.remove();
        drop(dropped);
      }
      return opened;
    }
  }

  private Output open(Key key) throws IOException {
    CommittedOutputs.Files of = files.filesOf(key.shuffleId(), key.mapId());
    long[] offsets = offsetsOf(of);
    FileChannel data = FileChannel.open(of.data(), StandardOpenOption.READ);
    try {
      if (data.size() != offsets[offsets.length - 1]) {
        throw new IOException(of.data() + " has " + data.size() + " bytes, and its index says "
            + offsets[offsets.length - 1]);
      }
      return new Output(data, offsets);
    } catch (Throwable t) {
      data.close();
      throw t;
    }
  }

  private static long[] offsetsOf(CommittedOutputs.Files of) throws IOException {
    long sizeBytes = Files.size(of.index());
    if (sizeBytes < 2 * Long.BYTES || sizeBytes % Long.BYTES != 0 || sizeBytes > MAX_INDEX_BYTES) {
      throw new IOException(of.index() + " has " + sizeBytes + " bytes");
    }
    LongBuffer index = ByteBuffer.wrap(Files.readAllBytes(of.index())).asLongBuffer();
    long[] offsets = new long[index.remaining()];
    index.get(offsets);
    for (int i = 0; i < offsets.length; i++) {
      if (offsets[i] < (i == 0 ? 0 : offsets[i - 1])) {
        throw new IOException(of.index() + " is damaged: its offsets do not grow");
      }
    }
    return offsets;
  }

  private synchronized void endUse(Output output) {
    output.uses--;
    if (output.dropped && output.uses == 0) {
      close(output);
    }
  }

  private synchronized void drop(Output output) {
    output.dropped = true;
    if (output.uses == 0) {
      close(output);
    }
  }

  private static void close(Output output) {
    try {
      output.data.close();
    } catch (IOException e) {
      LOG.warn("A map output could not be closed", e);
    }
  }

  /** Closes the outputs of a shuffle, whose files may be deleted. */
  synchronized void forgetShuffle(int shuffleId) {
    List<Output> dropped = new ArrayList<>();
    open.entrySet().removeIf(entry -> {
      boolean isOfShuffle = entry.getKey().shuffleId() == shuffleId;
      if (isOfShuffle) {
        dropped.add(entry.getValue());
      }
      return isOfShuffle;
    });
    dropped.forEach(this::drop);
  }

  @Override
  public synchronized void close() {
    open.values().forEach(this::drop);
    open.clear();
  }
}
