/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.verbs.CompletionChannel;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The completion queue of all outgoing connections. Each queue pair reserves an entry for each place in its send queue,
 * so that the queue never overruns. It is small at first and doubles when more is reserved; it never shrinks. A device
 * whose provider cannot resize a queue gets one for as many connections as there may be from the start. Any thread may
 * call.
 */
final class CompletionRoom {
  private static final Logger LOG = LoggerFactory.getLogger(CompletionRoom.class);

  /** The queue has room for this many connections at first. */
  private static final int FIRST_CONNECTIONS = 8;

  private final CompletionQueue queue;
  private final QueueDepths depths;
  private final int connections;
  private final QueueBytes bytes = QueueBytes.ofSystem();

  // Guarded by this.
  private int reservations;
  private int reserved;
  private long queuePairBytes;

  /**
   * @param queue used by nobody else
   * @param connections for how many the queue may grow
   */
  CompletionRoom(CompletionQueue queue, QueueDepths depths, int connections) {
    this.queue = queue;
    this.depths = depths;
    this.connections = connections;
  }

  /** Creates the queue, which belongs to {@code acquired}. */
  static CompletionRoom create(
      DeviceContext device,
      DeviceInfo info,
      CompletionChannel events,
      TransportSettings settings,
      Acquired acquired)
      throws IOException {
    QueueDepths depths = settings.queueDepths();
    int most = Math.min(
        Math.min(settings.maxConnections(), info.maxQp()), depths.connections(info.maxCqe()));
    if (most == 0) {
      throw new IOException("device " + info.name() + " has " + info.maxQp()
          + " queue pairs, and completes " + info.maxCqe() + " work requests at most: give "
          + settings.key("sendQueueDepth") + ", which is " + settings.sendQueueDepth()
          + ", no more than that");
    }
    int first = Math.min(most, FIRST_CONNECTIONS);
    if (first > 1) {
      CompletionQueue queue =
          acquired.keep(device.createCompletionQueue((int) depths.sum(first / 2), events, 0));
      try {
        queue.resize((int) depths.sum(first));
        return new CompletionRoom(queue, depths, most);
      } catch (VerbsException e) {
        LOG.debug("The completion queue has its full size from the start", e);
        queue.close();
      }
    }
    return fixed(device, events, most, depths, acquired);
  }

  /** With as large a queue as the device gives. */
  private static CompletionRoom fixed(
      DeviceContext device,
      CompletionChannel events,
      int most,
      QueueDepths depths,
      Acquired acquired)
      throws VerbsException {
    int connections = most;
    while (true) {
      try {
        CompletionQueue queue =
            acquired.keep(device.createCompletionQueue((int) depths.sum(connections), events, 0));
        return new CompletionRoom(queue, depths, connections);
      } catch (VerbsException e) {
        if (connections == 1) {
          throw e;
        }
        connections /= 2;
      }
    }
  }

  CompletionQueue queue() {
    return queue;
  }

  /** The most connections for which there can be room. */
  int connections() {
    return connections;
  }

  /** The entries that are reserved. */
  synchronized int reserved() {
    return reserved;
  }

  /** The bytes of the queue and of the queue pairs that have entries, as {@link QueueBytes} estimates them. */
  synchronized long queueBytes() {
    return bytes.ofCompletionQueue(queue.capacity()) + queuePairBytes;
  }

  /**
   * Reserves entries for one more queue pair, which is created afterwards. Where the queue cannot grow, they may be as few
   * as a list of READs needs.
   *
   * @throws VerbsException if the device has no room for them
   */
  synchronized Entries reserve() throws VerbsException {
    int count = depths.of(reservations + 1);
    if (reserved + count > queue.capacity()) {
      try {
        makeRoomFor(reserved + count);
      } catch (VerbsException e) {
        count = depths.least();
        if (reserved + count > queue.capacity()) {
          throw e;
        }
        LOG.debug("There is room for {} entries alone", count, e);
      }
    }
    return new Entries(count);
  }

  private void makeRoomFor(int wanted) throws VerbsException {
    long most = Math.max(wanted, depths.sum(connections));
    try {
      grow((int) Math.min(most, Math.max(wanted, 2L * queue.capacity())));
    } catch (VerbsException e) {
      LOG.debug("There may be room for less", e);
      grow(wanted);
    }
  }

  private void grow(int entries) throws VerbsException {
    queue.resize(entries);
    LOG.debug("The completion queue has {} entries", queue.capacity());
  }

  /**
   * The entries that one queue pair may fill. Its owner closes them when no completion of the queue pair can be in the
   * queue any more, or come into it.
   */
  final class Entries implements AutoCloseable {
    private final int count;
    private boolean closed; // guarded by the room

    private Entries(int count) {
      this.count = count;
      book(1);
    }

    int count() {
      return count;
    }

    private void book(int sign) {
      reservations += sign;
      reserved += sign * count;
      queuePairBytes += sign * bytes.ofQueuePair(count);
    }

    /** Gives the entries back, once. */
    @Override
    public void close() {
      synchronized (CompletionRoom.this) {
        if (!closed) {
          closed = true;
          book(-1);
        }
      }
    }
  }
}
