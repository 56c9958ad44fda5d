/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.ReadBatch;
import org.shufflerdma.verbs.VerbsException;

/**
 * A queue pair over which this side READs, with the entries of the completion queue that it may fill. They are reserved
 * before it is created. They come back when it has been destroyed and the completions that it has left have been taken;
 * if it cannot be destroyed, they stay reserved. Any thread may call.
 */
final class ReadQueuePair implements AutoCloseable {
  private final QueuePair queuePair;
  private final CompletionRoom.Entries entries;
  private final CompletionPoller poller;

  private ReadQueuePair(
      QueuePair queuePair, CompletionRoom.Entries entries, CompletionPoller poller) {
    this.queuePair = queuePair;
    this.entries = entries;
    this.poller = poller;
  }

  /** @param poller of the room's queue */
  static ReadQueuePair create(
      ConnectionId id, ProtectionDomain domain, CompletionRoom room, CompletionPoller poller)
      throws VerbsException {
    CompletionRoom.Entries entries = room.reserve();
    boolean created = false;
    try {
      QueuePairCapabilities wanted = new QueuePairCapabilities(entries.count(), 1, 1, 1, 0);
      QueuePair queuePair = id.createQueuePairForReads(domain, room.queue(), room.queue(), wanted);
      created = true;
      return new ReadQueuePair(queuePair, entries, poller);
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

  int number() {
    return queuePair.number();
  }

  /** Moves it to the state in which READs can be posted. */
  void toReady(QueuePairSetup setup) throws VerbsException {
    setup.initiatorReady(queuePair);
  }

  QueuePairAttributes attributes() throws VerbsException {
    return queuePair.attributes();
  }

  int postReads(ReadBatch batch) throws VerbsException {
    return queuePair.postReads(batch);
  }

  void toError() throws VerbsException {
    queuePair.toError();
  }

  /** Destroys it. If that fails, it stays for good, and its entries with it. */
  @Override
  public void close() throws VerbsException {
    queuePair.close();
    poller.afterAll(entries::close);
  }
}
