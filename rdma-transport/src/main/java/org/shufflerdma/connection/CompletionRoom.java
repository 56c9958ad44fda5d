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
 * The completion queue of all outgoing connections, with an entry for each place in their send queues, so that it never
 * overruns. It is small at first and doubles when there are more connections; it never shrinks. A device whose provider
 * cannot resize a queue gets one for as many connections as there may be from the start. Any thread may call.
 */
final class CompletionRoom {
  private static final Logger LOG = LoggerFactory.getLogger(CompletionRoom.class);

  /** The queue has room for this many connections at first. */
  private static final int FIRST_CONNECTIONS = 8;

  private final CompletionQueue queue;
  private final int entriesOfConnection;
  private final int connections;

  private CompletionRoom(CompletionQueue queue, int entriesOfConnection, int connections) {
    this.queue = queue;
    this.entriesOfConnection = entriesOfConnection;
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
    int entries = settings.sendQueueDepth();
    int most = Math.min(Math.min(settings.maxConnections(), info.maxQp()), info.maxCqe() / entries);
    if (most == 0) {
      throw new IOException("device " + info.name() + " has " + info.maxQp()
          + " queue pairs, and completes " + info.maxCqe() + " work requests at most: give "
          + settings.key("sendQueueDepth") + ", which is " + entries + ", no more than that");
    }
    int first = Math.min(most, FIRST_CONNECTIONS);
    if (first > 1) {
      CompletionQueue queue =
          acquired.keep(device.createCompletionQueue(first / 2 * entries, events, 0));
      try {
        queue.resize(first * entries);
        return new CompletionRoom(queue, entries, most);
      } catch (VerbsException e) {
        LOG.debug("The completion queue has its full size from the start", e);
        queue.close();
      }
    }
    return fixed(device, events, most, entries, acquired);
  }

  /** With as large a queue as the device gives. */
  private static CompletionRoom fixed(
      DeviceContext device, CompletionChannel events, int most, int entries, Acquired acquired)
      throws VerbsException {
    int connections = most;
    while (true) {
      try {
        CompletionQueue queue =
            acquired.keep(device.createCompletionQueue(connections * entries, events, 0));
        return new CompletionRoom(queue, entries, connections);
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

  /**
   * Makes room for this many connections, {@link #connections} at most.
   *
   * @throws VerbsException if the device has none
   */
  synchronized void ensure(int wanted) throws VerbsException {
    long now = queue.capacity() / entriesOfConnection;
    if (wanted > now) {
      try {
        grow((int) Math.min(connections, Math.max(wanted, 2 * now)));
      } catch (VerbsException e) {
        LOG.debug("There may be room for less", e);
        grow(wanted);
      }
    }
  }

  private void grow(int toConnections) throws VerbsException {
    queue.resize(toConnections * entriesOfConnection);
    LOG.debug("The completion queue has room for {} connections", toConnections);
  }
}
