/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.VerbsException;

/**
 * A queue pair over which this side READs, with the entries of the completion queue that it may fill. They are reserved
 * before it is created. They come back when it has been destroyed and the completions that it has left have been taken;
 * if it cannot be destroyed, they stay reserved. Any thread may call.
 */
record ReadQueuePair(QueuePair pair, CompletionRoom.Entries entries, CompletionPoller poller)
    implements AutoCloseable {
  /** @param poller of the room's queue */
  static ReadQueuePair create(
      ConnectionId id, ProtectionDomain domain, CompletionRoom room, CompletionPoller poller)
      throws VerbsException {
    CompletionRoom.Entries entries = room.reserve();
    boolean created = false;
    try {
      QueuePairCapabilities wanted = new QueuePairCapabilities(entries.count(), 1, 1, 1, 0);
      QueuePair pair = id.createQueuePairForReads(domain, room.queue(), room.queue(), wanted);
      created = true;
      return new ReadQueuePair(pair, entries, poller);
    } finally {
      if (!created) {
        entries.close();
      }
    }
  }

  /** How many READs may be posted at a time. */
  int depth() {
    return entries.count();
  }

  /** Destroys it. If that fails, it stays for good, and its entries with it. */
  @Override
  public void close() throws VerbsException {
    pair.close();
    poller.afterAll(entries::close);
  }
}
