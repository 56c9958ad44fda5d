/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.CompletionBatch;
import org.shufflerdma.verbs.CompletionChannel;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.VerbsException;
import org.shufflerdma.verbs.WcStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes completions from the transport's completion queue and tells the lists they end. One thread
 * turns it, and sleeps while there are none.
 */
final class CompletionPoller {
  private static final Logger LOG = LoggerFactory.getLogger(CompletionPoller.class);
  private static final int BATCH = 64;
  private static final int WAIT_MS = 200;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final PendingReads pending;
  private final TransportStats stats;
  private final CompletionBatch batch = new CompletionBatch(BATCH);

  CompletionPoller(
      CompletionQueue queue,
      CompletionChannel channel,
      PendingReads pending,
      TransportStats stats) {
    this.queue = queue;
    this.channel = channel;
    this.pending = pending;
    this.stats = stats;
  }

  /** Completions that come between the first poll and the arming are found by the second. */
  void turn() throws VerbsException {
    if (poll() == 0) {
      queue.requestNotify(false);
      if (poll() == 0) {
        channel.await(WAIT_MS);
      }
    }
  }

  private int poll() throws VerbsException {
    int count = queue.poll(batch);
    for (int i = 0; i < count; i++) {
      dispatch(batch.wrId(i), batch.status(i), batch.vendorError(i));
    }
    return count;
  }

  /**
   * Handles a completion. If it failed, only wr_id, status, queue pair number and vendor error are
   * valid.
   */
  private void dispatch(long wrId, int status, int vendorError) {
    PostedList list = pending.find(wrId);
    if (list == null) {
      stats.staleCompletions.increment();
      return;
    }
    try {
      list.connection.completed(wrId, list, status, vendorError);
    } catch (RuntimeException e) {
      LOG.error(
          "Completion {} of a READ from {} could not be handled",
          WcStatus.name(status),
          list.connection.peer(),
          e);
    }
  }
}
