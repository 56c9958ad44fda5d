/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link ConnectionPool} knows about one peer: the connection, or the attempt to make it, that all threads share,
 * and how earlier ones ended. Any thread may call; no call waits but {@link #isLost}.
 */
final class PeerState {
  private final PeerId peer;
  private final CircuitBreaker breaker;
  private final HostProbe probe = new HostProbe();

  // Guarded by this.
  private @Nullable Connecting current;
  private @Nullable PeerFailure lastFailure;
  private boolean wasConnected;
  private boolean fellSilent;
  private long usedNs = System.nanoTime();

  private final AtomicInteger interests = new AtomicInteger();
  private final LongAdder lists = new LongAdder();
  private final LongAdder readNs = new LongAdder();

  private volatile @Nullable InetSocketAddress tcpAddress;
  private volatile int stagingPort;

  /** The last READ of the peer's files failed; what it stages may come all the same. */
  private volatile boolean filesFail;

  PeerState(PeerId peer, CircuitBreaker breaker) {
    this.peer = peer;
    this.breaker = breaker;
  }

  PeerId peer() {
    return peer;
  }

  /** Where the peer's host is asked by TCP; null if that is not known. */
  @Nullable
  InetSocketAddress tcpAddress() {
    return tcpAddress;
  }

  /** The peer has told at which TCP port it stages map outputs; 0 if it does not. */
  void stagesAt(int port) {
    stagingPort = port;
  }

  int stagingPort() {
    return stagingPort;
  }

  /** A request for the peer has come: it is not forgotten for a while. */
  synchronized PeerState use(@Nullable InetSocketAddress address) {
    usedNs = System.nanoTime();
    tcpAddress = address;
    return this;
  }

  synchronized boolean isUnused(long ns) {
    return System.nanoTime() - usedNs >= ns && !isWanted() && currentAttempt() == null;
  }

  /** The attempt under way, or the one that led to a connection which is open; else null. */
  synchronized @Nullable Connecting currentAttempt() {
    return current == null || current.isOver() ? null : current;
  }

  void interestBegins() {
    interests.incrementAndGet();
  }

  void interestEnds() {
    interests.decrementAndGet();
  }

  /** Whether a task has blocks of the peer to read. */
  boolean isWanted() {
    return interests.get() > 0;
  }

  /** Returns the connection if it is open. */
  @Nullable
  Connection connection() {
    Connecting attempt = currentAttempt();
    return attempt == null ? null : attempt.connection();
  }

  /** Makes this the attempt that all share; false if there is another one, or none may be made. */
  synchronized boolean beginAttempt(Connecting attempt) {
    if (currentAttempt() != null || !breaker.admits()) {
      return false;
    }
    current = attempt;
    return true;
  }

  /** Drops a connection that is over, so that a peer that does not come back keeps no memory. */
  synchronized void forgetEnded() {
    if (currentAttempt() == null) {
      current = null;
    }
  }

  /** Returns whether the peer's failures allow an attempt now. */
  boolean mayBeTried() {
    return breaker.wouldAdmit();
  }

  /** True if this connection replaces an earlier one. */
  synchronized boolean connected() {
    boolean replaces = wasConnected;
    wasConnected = true;
    fellSilent = false;
    return replaces;
  }

  synchronized void fellSilent(boolean silent) {
    fellSilent = silent;
  }

  /** The last connection ended because the peer did not answer. */
  synchronized boolean hasFallenSilent() {
    return fellSilent;
  }

  synchronized @Nullable PeerFailure lastFailure() {
    return lastFailure;
  }

  /** A list of READs has come through, which took so many nanoseconds. */
  void succeeded(ReadsOf what, long ns) {
    if (what == ReadsOf.RECORDS) {
      return;
    }
    if (what == ReadsOf.FILES) {
      filesFail = false;
    }
    if (!filesFail) {
      breaker.succeeded();
    }
    lists.increment();
    readNs.add(ns);
  }

  /** A READ has failed that is itself to blame. */
  void readFailed(ReadsOf what) {
    if (what == ReadsOf.FILES) {
      filesFail = true;
    }
  }

  /** How long READs of the peer's data took so far. */
  PeerReadTime readTime() {
    return new PeerReadTime(peer, lists.sum(), readNs.sum());
  }

  /** The attempt ended without telling anything about the peer. */
  void undecided() {
    breaker.undecided();
  }

  /** True if the peer is left alone from now on. */
  boolean failed(PeerFailure failure) {
    synchronized (this) {
      lastFailure = failure;
    }
    return failure == PeerFailure.PEER_UNREACHABLE ? breaker.trip() : breaker.failed();
  }

  /** Returns whether the peer's host does not answer TCP either; false if it cannot be asked. */
  boolean isLost() {
    InetSocketAddress address = tcpAddress;
    return address != null && !probe.isAnswering(address);
  }
}
