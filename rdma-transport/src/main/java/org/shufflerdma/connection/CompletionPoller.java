/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Ended;
import org.shufflerdma.verbs.CompletionBatch;
import org.shufflerdma.verbs.CompletionChannel;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.VerbsException;
import org.shufflerdma.verbs.WcStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes completions from the transport's completion queue and tells the lists they end. A thread that
 * reads blocks polls by itself, and wants to be woken only while it has nothing else to do. A thread of
 * its own calls {@link #turn}: it is woken while somebody expects completions, and looks every 200 ms
 * regardless. Any thread may call the public methods, which do not wait for completions.
 */
public final class CompletionPoller {
  private static final Logger LOG = LoggerFactory.getLogger(CompletionPoller.class);
  private static final int BATCH = 64;
  private static final int WAIT_MS = 200;
  private static final int CLOSE_MS = 5_000;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final PendingReads pending;
  private final TransportStats stats;

  /** Threads that wait for completions, and lists for which nobody polls. */
  private final AtomicInteger expecting = new AtomicInteger();

  /** Held by the one thread that polls; not a lock, as no thread may poll within its own poll. */
  final Semaphore polling = new Semaphore(1);

  private final CompletionBatch batch = new CompletionBatch(BATCH); // whoever polls uses it

  /** Whether somebody has asked for a poll that has not begun. */
  private volatile boolean wanted;

  /** Run after a poll that has taken all that had completed when it began. */
  private final Queue<Runnable> afterAll = new ConcurrentLinkedQueue<>();

  /** What a list's outcome, or its handling, has thrown first; it ends the turning thread. */
  private volatile @Nullable Error failure;

  private boolean closed; // guarded by this

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

  /** Takes what has completed, or has the thread do so that is polling. */
  public void poll() {
    wanted = true;
    while (wanted && polling.tryAcquire()) { // again if another thread has asked in vain meanwhile
      try {
        takeAll();
      } catch (VerbsException e) {
        LOG.debug("Completions could not be taken; if that persists, the transport ends", e);
      } finally {
        polling.release();
      }
    }
  }

  /**
   * Has the action run when all has been taken that has completed by now. It is short, and must not throw. It does not run
   * if this has been closed.
   */
  void afterAll(Runnable action) {
    afterAll.add(action);
    poll();
  }

  /** Whether any of those actions has yet to run. */
  boolean hasActions() {
    return !afterAll.isEmpty();
  }

  /**
   * From now on, until {@link #expectNoMore}, the turning thread is woken by completions. Whoever waits
   * for one then calls {@link #poll}, as it may have come before.
   */
  public void expect() {
    expecting.incrementAndGet();
    try {
      requestEvent();
    } catch (VerbsException e) {
      LOG.debug("No event could be requested; if that persists, the transport ends", e);
    }
  }

  private synchronized void requestEvent() throws VerbsException {
    if (!closed) {
      stats.nativeCalls.increment();
      queue.requestNotify(false);
    }
  }

  /** Ends what one call of {@link #expect} began. */
  public void expectNoMore() {
    expecting.decrementAndGet();
  }

  /** One step of the turning thread, which must not call this again after an exception. */
  void turn() throws VerbsException {
    Error thrown = failure;
    if (thrown != null) {
      throw thrown;
    }
    if (takeInTurn()) {
      return;
    }
    if (expecting.get() > 0) {
      requestEvent();
      if (takeInTurn()) { // what came between the poll and the request causes no event
        return;
      }
    }
    channel.await(WAIT_MS);
  }

  /** True if there was anything. */
  private boolean takeInTurn() throws VerbsException {
    boolean found;
    polling.acquireUninterruptibly();
    try {
      found = takeAll();
    } finally {
      polling.release();
    }
    if (wanted) {
      poll();
    }
    return found;
  }

  private boolean takeAll() throws VerbsException {
    wanted = false;
    // What is added from now on may be about completions that this does not see.
    int due = afterAll.size();
    boolean found = false;
    int count = BATCH;
    while (count == BATCH) {
      stats.nativeCalls.increment();
      count = queue.poll(batch);
      found |= count > 0;
      for (int i = 0; i < count; i++) {
        dispatch(batch.wrId(i), batch.status(i), batch.vendorError(i));
      }
    }
    for (; due > 0; due--) {
      afterAll.remove().run();
    }
    return found;
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
      if (!list.connection.completed(wrId, list, status, vendorError)) {
        return;
      }
    } catch (RuntimeException | Error e) {
      LOG.error(
          "Completion {} of a READ from {} could not be handled",
          WcStatus.name(status),
          list.connection.peer(),
          e);
      note(e);
      return;
    }
    try {
      list.tell();
    } catch (RuntimeException | Error e) {
      LOG.error(
          "The outcome of a list of READs from {} could not be told", list.connection.peer(), e);
      note(e);
    }
  }

  /** The other completions are handled before an error ends the transport. */
  private void note(Throwable thrown) {
    if (thrown instanceof Error error && failure == null) {
      failure = error;
    }
  }

  /** No completion is taken any more. The turning thread has ended. */
  void close() throws InterruptedException {
    // For good, as the queue is about to be destroyed.
    try {
      Ended.await(
          "the handling of completions",
          CLOSE_MS,
          ms -> polling.tryAcquire(ms, TimeUnit.MILLISECONDS));
    } finally {
      synchronized (this) {
        closed = true;
      }
    }
  }
}
