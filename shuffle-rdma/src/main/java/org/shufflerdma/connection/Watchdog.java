/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Gives up connections on which nothing completes any more. A verdict needs two looks in a row, so
 * that the poller gets its turn first after a long pause of this process. Driven by one timer
 * thread; a probe of a silent peer's host runs in the prober.
 */
final class Watchdog {
  private final TransportSettings settings;
  private final Iterable<Connection> connections;
  private final Executor prober;

  /** Silent connections, and for how long they were at the last look. */
  private final Map<Connection, Long> silentNs = new ConcurrentHashMap<>();

  /** Connections whose peer is being, or has been, asked in this silence. */
  private final Map<Connection, Boolean> probed = new ConcurrentHashMap<>();

  Watchdog(TransportSettings settings, Iterable<Connection> connections, Executor prober) {
    this.settings = settings;
    this.connections = connections;
    this.prober = prober;
  }

  void look() {
    long probeAfterNs = TimeUnit.MILLISECONDS.toNanos(
        Math.max(0, settings.peerLostTimeoutMs() - TcpProbe.TOTAL_MS));
    long giveUpNs = TimeUnit.MILLISECONDS.toNanos(settings.progressTimeoutMs());
    silentNs.keySet().removeIf(connection -> !connection.isOpen());
    probed.keySet().removeIf(connection -> !connection.isOpen());
    for (Connection connection : connections) {
      long now = connection.silentNs();
      Long before = silentNs.put(connection, now);
      if (before == null || now < before) {
        probed.remove(connection);
      } else if (before >= giveUpNs) {
        connection.breakWith(new Breakage(
            Breakage.Kind.NO_PROGRESS,
            "no completion for " + settings.progressTimeoutMs() + " ms"));
      } else if (before >= probeAfterNs && now > 0) {
        probe(connection);
      }
    }
  }

  private void probe(Connection connection) {
    InetSocketAddress target = connection.tcpAddress();
    if (target != null && probed.put(connection, true) == null) {
      prober.execute(() -> breakIfLost(connection, target));
    }
  }

  private void breakIfLost(Connection connection, InetSocketAddress target) {
    long silentBeforeNs = connection.silentNs();
    if (!TcpProbe.isAnswered(target) && connection.silentNs() >= silentBeforeNs) {
      connection.breakWith(new Breakage(
          Breakage.Kind.PEER_UNREACHABLE,
          "no completion, and no answer from " + target + " either"));
    }
  }
}
