/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * Issues READs over a connection of the plugin's own transport, as tasks do: the calling thread posts, and polls for the
 * completions. One thread uses it. The buffer is leased from the transport's pool until the close.
 */
final class TransportReads implements AutoCloseable {
  private static final int OPENING_MS = 10_000;
  private static final int PATIENCE_MS = 10_000;

  private final RdmaTransport transport;
  private final Connection connection;
  private final RegisteredBuffer sink;
  private final int slotBytes;

  private TransportReads(
      RdmaTransport transport, Connection connection, RegisteredBuffer sink, int slotBytes) {
    this.transport = transport;
    this.connection = connection;
    this.sink = sink;
    this.slotBytes = slotBytes;
  }

  /**
   * @param slotBytes the most bytes of a READ
   * @param depth the most READs in progress
   */
  static TransportReads open(
      RdmaTransport transport, Connection connection, int slotBytes, int depth)
      throws IOException, InterruptedException {
    RegisteredBuffer sink =
        transport.buffers().acquire((long) slotBytes * depth, Deadline.afterMs(OPENING_MS));
    return new TransportReads(transport, connection, sink, slotBytes);
  }

  /** The outcome of the READ of one slot, which any polling thread tells. */
  private static final class Slot implements ReadCompletion {
    private volatile boolean done;
    private volatile @Nullable ReadFailure failure;
    private long postedNs;

    @Override
    public void succeeded() {
      done = true;
    }

    @Override
    public void failed(ReadFailure readFailure) {
      failure = readFailure;
      done = true;
    }

    @Override
    public boolean isPolledFor() {
      return true;
    }
  }

  /**
   * Keeps {@code depth} READs of {@code bytes}, from one end of a region to the other and again, in progress for the time, and
   * waits for the last ones.
   */
  Latencies timed(RemoteMemory remote, int bytes, int depth, long budgetNs)
      throws IOException, InterruptedException {
    Latencies latencies = new Latencies(bytes);
    long places = remote.length() / bytes;
    long place = 0;
    long startNs = System.nanoTime();
    Slot[] slots = new Slot[depth];
    for (int i = 0; i < depth; i++) {
      slots[i] = post(remote, place++ % places * bytes, bytes, i);
    }
    long progressNs = startNs;
    boolean more = true;
    for (int inProgress = depth; inProgress > 0; ) {
      transport.poller().poll();
      long nowNs = System.nanoTime();
      more &= nowNs - startNs < budgetNs && !latencies.isFull(depth);
      for (int i = 0; i < depth; i++) {
        Slot slot = slots[i];
        if (slot != null && slot.done) {
          throwFailure(slot);
          latencies.add(nowNs - slot.postedNs);
          progressNs = nowNs;
          if (more) {
            slots[i] = post(remote, place++ % places * bytes, bytes, i);
          } else {
            slots[i] = null;
            inProgress--;
          }
        }
      }
      requireProgress(progressNs, nowNs);
    }
    latencies.end(System.nanoTime() - startNs);
    return latencies;
  }

  /** Reads one range and returns a view of the bytes, which is valid until the next READ. */
  ByteBuffer read(RemoteMemory remote, int bytes) throws IOException, InterruptedException {
    Slot slot = post(remote, 0, bytes, 0);
    long startNs = System.nanoTime();
    while (!slot.done) {
      transport.poller().poll();
      requireProgress(startNs, System.nanoTime());
    }
    throwFailure(slot);
    return sink.nioBuffer(0, bytes);
  }

  private Slot post(RemoteMemory remote, long offset, int bytes, int slot)
      throws IOException, InterruptedException {
    Slot posted = new Slot();
    Read read = new Read(remote.address() + offset, remote.rkey(), bytes, (long) slot * slotBytes);
    posted.postedNs = System.nanoTime();
    try {
      connection.post(List.of(read), sink, posted, Deadline.afterMs(PATIENCE_MS));
    } catch (TimeoutException e) {
      throw new IOException(e.getMessage(), e);
    }
    return posted;
  }

  private static void throwFailure(Slot slot) throws IOException {
    ReadFailure failure = slot.failure;
    if (failure != null) {
      throw new IOException("a READ failed: " + failure);
    }
  }

  private static void requireProgress(long sinceNs, long nowNs) throws IOException {
    if (nowNs - sinceNs > TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS)) {
      throw new IOException("no READ completed within " + PATIENCE_MS / 1000 + " s");
    }
    Thread.onSpinWait();
  }

  @Override
  public void close() {
    sink.release();
  }
}
