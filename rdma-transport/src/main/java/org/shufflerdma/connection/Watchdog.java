/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Gives up connections on which nothing completes any more, and, while READs that nobody waits for
 * hold too many buffers, the one with most of them. A verdict needs two looks in a row, so
 * that the poller gets its turn first after a long pause of this process. Driven by one timer
 * thread; a probe of a silent peer's host runs in the prober.
 */
final class Watchdog {
  /** One part in so many of the fetch buffers may be held by READs that nobody waits for. */
  private static final int ZOMBIE_SHARE = 4;

  private final TransportSettings settings;
  private final Iterable<Connection> connections;
  private final Predicate<Connection> hostAnswers;
  private final Executor prober;

  /** Silent connections, and for how long they were at the last look. */
  private final Map<Connection, Long> silentNs = new ConcurrentHashMap<>();

  /** Connections whose peer is being, or has been, asked in this silence. */
  private final Map<Connection, Boolean> probed = new ConcurrentHashMap<>();

  private boolean tooManyZombies;

  /**
   * @param hostAnswers whether a peer's host answers TCP, as far as it can be asked; may take {@link
   *     TcpProbe#TOTAL_MS}
   */
  Watchdog(
      TransportSettings settings,
      Iterable<Connection> connections,
      Predicate<Connection> hostAnswers,
      Executor prober) {
    this.settings = settings;
    this.connections = connections;
    this.hostAnswers = hostAnswers;
    this.prober = prober;
  }

  void look() {
    boundZombies();
    long probeAfterNs = TimeUnit.MILLISECONDS.toNanos(settings.hostAskedAfterMs());
    long giveUpNs = TimeUnit.MILLISECONDS.toNanos(settings.silenceTimeoutMs());

    silentNs.keySet().removeIf(connection -> !connection.isOpen());
    probed.keySet().removeIf(connection -> !connection.isOpen());
    for (Connection connection : connections) {
      long now = connection.silentNs();
      Long before = silentNs.put(connection, now);
      if (before == null || now < before) {
        probed.remove(connection);
      } else if (before >= giveUpNs) {
        connection.breakWith(
            PeerFailure.NO_PROGRESS, "no completion for " + settings.silenceTimeoutMs() + " ms");
      } else if (now >= probeAfterNs && now > 0) { // its verdict comes later than the next look
        probe(connection, now);
      }
    }
  }

  /** While those of a connection that broke are about to come back, no other is given up. */
  private void boundZombies() {
    long bytes = 0;
    long mostBytes = 0;
    Connection most = null;
    boolean someComeBack = false;
    for (Connection connection : connections) {
      long zombieBytes = connection.zombieBytes();
      bytes += zombieBytes;
      if (zombieBytes > 0 && !connection.isOpen()) {
        someComeBack = true;
      } else if (zombieBytes > mostBytes) {
        mostBytes = zombieBytes;
        most = connection;
      }
    }
    boolean before = tooManyZombies;
    tooManyZombies = bytes > settings.pool().budgetBytes() / ZOMBIE_SHARE && !someComeBack;
    if (before && tooManyZombies && most != null) {
      most.breakWith(
          PeerFailure.ABANDONED,
          "READs of tasks that are gone hold " + mostBytes + " bytes of buffers");
    }
  }

  private void probe(Connection connection, long seenNs) {
    if (probed.put(connection, true) == null) {
      prober.execute(() -> breakIfLost(connection, seenNs));
    }
  }

  /**
   * Breaks a silent connection whose host does not answer TCP, unless it has made progress since
   * {@code seenNs}.
   */
  private void breakIfLost(Connection connection, long seenNs) {
    if (!hostAnswers.test(connection) && connection.silentNs() >= seenNs) {
      connection.breakWith(
          PeerFailure.PEER_UNREACHABLE,
          "no completion, and no answer from " + connection.state().tcpAddress() + " either");
    }
  }
}
