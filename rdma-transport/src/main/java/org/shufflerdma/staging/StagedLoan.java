/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * The reader's end of one loan: it has an owner stage ranges in memory that the owner lends, from where they can be
 * READ until the lease is over.
 *
 * <pre>
 *   ASKED ──▶ LENT ──▶ READING ──▶ RETURNED
 *     │        └─ lease over, or wanted no more ─▲
 *     └────────── wanted no more ───────────────┘
 * </pre>
 *
 * Whoever took it {@link #release}s it, when nothing is to be READ from it any more. Any thread may call.
 */
public final class StagedLoan {
  /**
   * Where a range stands in the memory that was lent.
   *
   * @param registered where its map output can be read in future; null if it must be staged
   */
  public record Range(
      boolean isStaged,
      long lengthBytes,
      int offsetBytes,
      int stagedBytes,
      int checksum,
      @Nullable RegisteredOutput registered) {}

  private enum State {
    ASKED,
    LENT,
    READING,
    RETURNED
  }

  private final StagingClient client;
  private final StagingTerms terms;
  private final Runnable wake;
  private long id; // guarded by the client

  // Guarded by this.
  private State state = State.ASKED;
  private int waitMs;
  private Deadline lease = Deadline.afterMs(0);
  private long remoteAddress;
  private int rkey;
  private List<Range> ranges = List.of();
  private @Nullable IOException failure;

  StagedLoan(StagingClient client, StagingTerms terms, Runnable wake) {
    this.client = client;
    this.terms = terms;
    this.wake = wake;
  }

  long id() {
    return id;
  }

  void number(long next) {
    id = next;
  }

  /**
   * Asks the owner to stage the ranges; {@link #isAnswered} tells when it has. Called once.
   *
   * @param maxBytes that are to be staged at most
   */
  public void ask(List<StagedRange> wanted, int maxBytes) {
    client.ask(this, wanted, Math.min(maxBytes, terms.loanBytes()));
  }

  public synchronized boolean isAnswered() {
    return state != State.ASKED || failure != null;
  }

  /** How long the request probably waits at its owner; 0 unless the owner has said that it waits. */
  public synchronized int waitMs() {
    return state == State.ASKED ? waitMs : 0;
  }

  /** Why there will be no answer; null if there is one. */
  public synchronized @Nullable IOException failure() {
    return failure;
  }

  /** What the owner has staged, in the order of the request; those that did not fit are missing. */
  public synchronized List<Range> ranges() {
    return ranges;
  }

  /** The bytes that can be staged in it. */
  public int sizeBytes() {
    return terms.loanBytes();
  }

  /** Where the first range begins in the owner's memory. Valid once answered. */
  public synchronized long remoteAddress() {
    return remoteAddress;
  }

  public synchronized int rkey() {
    return rkey;
  }

  /** Until when READs may be posted: in the first half of the time for which the owner lends the memory. */
  public synchronized Deadline lease() {
    return lease;
  }

  /** Begins to read; false if it is too late. */
  public synchronized boolean beginRead() {
    if (state != State.LENT || lease.expired()) {
      return false;
    }
    state = State.READING;
    return true;
  }

  /** No READ could be posted, and another attempt may be made. */
  public synchronized void readNotPosted() {
    if (state == State.READING) {
      state = State.LENT;
    }
  }

  void waits(int ms) {
    synchronized (this) {
      waitMs = ms;
    }
    wake.run();
  }

  void answered(long address, int key, List<Range> staged) {
    synchronized (this) {
      if (state == State.ASKED) {
        state = State.LENT;
        lease = Deadline.afterMs(terms.leaseMs() / 2);
        remoteAddress = address;
        rkey = key;
        ranges = staged;
      }
    }
    wake.run();
  }

  void failed(IOException why) {
    synchronized (this) {
      failure = why;
    }
    wake.run();
  }

  /** Returns it to its owner, who may use the memory again. */
  public void release() {
    synchronized (this) {
      if (state == State.RETURNED) {
        return;
      }
      state = State.RETURNED;
    }
    client.giveBack(this);
  }

  /** Returns it if it can be read no more, and is not being read: its task may be busy for long. */
  void releaseIfOver() {
    synchronized (this) {
      if (state != State.LENT || !lease.expired()) {
        return;
      }
      state = State.RETURNED;
    }
    client.giveBack(this);
  }
}
