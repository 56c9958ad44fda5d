/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.SoftCounters;
import org.shufflerdma.verbs.Verbs;

/**
 * Lists of READs over the plugin's connection, as a task posts them and waits for them: the poller sees
 * the completion of a list and wakes the thread. One thread calls.
 */
final class ConnectionReads implements AutoCloseable {
  private static final int WAIT_MS = 100;
  private static final int LIMIT_MS = 60_000;

  private final RdmaTransport transport;
  private final ReadSource source;
  private final long[] addresses = new long[ReadSource.FILES];
  private final int[] rkeys = new int[ReadSource.FILES];
  private final Connection connection;
  private final RegisteredBuffer sink;
  private final Verbs verbs;

  ConnectionReads(JsonNode server, ReadSource source, long sinkBytes) throws Exception {
    this.source = source;
    for (int file = 0; file < ReadSource.FILES; file++) {
      JsonNode region = server.get("regions").get(file);
      addresses[file] = region.get(0).asLong();
      rkeys[file] = (int) region.get(1).asLong();
    }
    transport = Plugin.open("reader", 2 * sinkBytes, InetAddress.getLoopbackAddress());
    verbs = Verbs.open(Provider.SOFT);
    Deadline deadline = Deadline.afterMs(LIMIT_MS);
    connection = transport.connections().connect(Plugin.peer("server", server), null, deadline);
    sink = transport.buffers().acquire(sinkBytes, deadline);
  }

  /** Most READs that the plugin posts at a time. */
  int readsPerPost() {
    return transport.settings().readsPerList();
  }

  /**
   * Reads everything.
   *
   * @return the sum of the numbers in the first and the last lines of the READs of the last list
   */
  long read(ReadBench.Lists lists) throws Exception {
    SoftCounters before = verbs.softCounters();
    for (int list = 0; list < lists.lists(); list++) {
      readList(lists, list);
    }
    SoftCounters after = verbs.softCounters();
    if (shortReads(after) - shortReads(before) != lists.reads()
        || after.sendWrPosted() - before.sendWrPosted() != lists.reads()) {
      throw new IOException("some READs of " + lists + " went over the wire");
    }
    long sum = 0;
    for (int i = 0; i < lists.depth(); i++) {
      ByteBuffer read = sink.nioBuffer((long) i * lists.readBytes(), lists.readBytes());
      sum += read.getLong(0) + read.getLong(lists.readBytes() - ReadSource.LINE_BYTES);
    }
    return sum;
  }

  private static long shortReads(SoftCounters counters) {
    return counters.readsFile() + counters.readsCma();
  }

  /** Posts the list of this number, and returns when all its READs have completed. */
  void readList(ReadBench.Lists lists, int list) throws Exception {
    int posts = (lists.depth() + readsPerPost() - 1) / readsPerPost();
    Outcome outcome = new Outcome(posts);
    List<Read> reads = new ArrayList<>();
    for (int i = 0; i < lists.depth(); i++) {
      ReadSource.Place place = source.place((long) list * lists.depth() + i, lists.readBytes());
      reads.add(new Read(
          addresses[place.file()] + place.offset(),
          rkeys[place.file()],
          lists.readBytes(),
          (long) i * lists.readBytes()));
      if (reads.size() == readsPerPost() || i + 1 == lists.depth()) {
        connection.post(reads, sink, outcome, Deadline.afterMs(LIMIT_MS));
        reads.clear();
      }
    }
    outcome.await();
  }

  /** Takes completions, of which there are none between two lists. */
  void poll() {
    transport.poller().poll();
  }

  /** The first bytes of the buffer that READs go to. */
  ByteBuffer sinkBytes(int bytes) {
    return sink.nioBuffer(0, bytes);
  }

  @Override
  public void close() {
    sink.release();
    transport.close();
  }

  /** What the reading thread waits for, and polls for as the thread of a task does. */
  private final class Outcome implements ReadCompletion {
    private final Thread waiter = Thread.currentThread();
    private final AtomicInteger missing;
    private volatile @Nullable ReadFailure failure;

    Outcome(int posts) {
      missing = new AtomicInteger(posts);
    }

    @Override
    public void succeeded() {
      missing.decrementAndGet();
      LockSupport.unpark(waiter);
    }

    @Override
    public void failed(ReadFailure why) {
      failure = why;
      succeeded();
    }

    @Override
    public boolean isPolledFor() {
      return true;
    }

    void await() throws IOException {
      Deadline deadline = Deadline.afterMs(LIMIT_MS);
      transport.poller().poll();
      while (missing.get() > 0 && !deadline.expired()) {
        transport.poller().expect();
        transport.poller().poll();
        if (missing.get() > 0) {
          LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(WAIT_MS));
        }
        transport.poller().expectNoMore();
      }
      if (missing.get() > 0 || failure != null) {
        throw new IOException("READs did not succeed: " + failure);
      }
    }
  }
}
