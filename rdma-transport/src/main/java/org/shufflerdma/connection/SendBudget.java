/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.shufflerdma.concurrent.Deadline;

/**
 * Free places in one send queue. A place is taken before its work request is posted and comes back
 * with the completion that retires it, so the queue never refuses and the completion queue never
 * overruns. Callers are served in the order in which they came, so that a long list does not
 * starve behind short ones. Thread-safe.
 */
final class SendBudget {
  private final int depth;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Object> waiting = new ArrayDeque<>();
  private int free;
  private boolean closed;

  SendBudget(int depth) {
    this.depth = depth;
    this.free = depth;
  }

  /** False if the places are not free, others wait for some, or the budget is closed. */
  boolean tryAcquire(int places) {
    lock.lock();
    try {
      if (closed || !waiting.isEmpty() || free < places) {
        return false;
      }
      free -= places;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** False if the places did not become free in time, or the budget is closed. */
  boolean acquire(int places, Deadline deadline) throws InterruptedException {
    if (places < 1 || places > depth) {
      throw new IllegalArgumentException(places + " places of a queue of " + depth);
    }
    Object turn = new Object();
    lock.lockInterruptibly();
    try {
      waiting.add(turn);
      while (!closed && (waiting.peek() != turn || free < places)) {
        if (deadline.expired()) {
          return false;
        }
        changed.awaitNanos(deadline.remainingNs());
      }
      if (closed) {
        return false;
      }
      free -= places;
      return true;
    } finally {
      waiting.remove(turn);
      changed.signalAll();
      lock.unlock();
    }
  }

  void release(int places) {
    lock.lock();
    try {
      if (free + places > depth) {
        throw new IllegalStateException(places + " places came back twice");
      }
      free += places;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** No more places from now on; whoever waits is told so. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
