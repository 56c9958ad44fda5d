/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The connections to one peer beside the first one, by channels that count from 1. Any thread may call. */
final class FurtherConnections {
  /** How long a channel is left alone after an attempt to connect, whatever became of it. */
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(60);

  // Guarded by this.
  private final @Nullable Connection[] connections;
  private final long[] begunNs;
  private final boolean[] begun;
  private boolean connecting;

  FurtherConnections(int channels) {
    connections = new Connection[channels];
    begunNs = new long[channels];
    begun = new boolean[channels];
  }

  /** Returns the connection of the channel if it is open. */
  synchronized @Nullable Connection open(int channel) {
    Connection connection = connections[channel];
    if (connection != null && !connection.isOpen()) {
      connections[channel] = null;
      return null;
    }
    return connection;
  }

  /**
   * Makes the caller the one that connects, until {@link #attemptEnded}; false if another one does, or the
   * channel is open or to be left alone.
   */
  synchronized boolean beginAttempt(int channel) {
    long nowNs = System.nanoTime();
    if (connecting
        || open(channel) != null
        || (begun[channel] && nowNs - begunNs[channel] < RETRY_NS)) {
      return false;
    }
    connecting = true;
    begun[channel] = true;
    begunNs[channel] = nowNs;
    return true;
  }

  synchronized void attemptEnded() {
    connecting = false;
  }

  synchronized boolean isAnyOpen() {
    return !allOpen().isEmpty();
  }

  synchronized List<Connection> allOpen() {
    return Arrays.stream(connections)
        .filter(Objects::nonNull)
        .filter(Connection::isOpen)
        .toList();
  }

  synchronized void made(int channel, Connection connection) {
    connections[channel] = connection;
  }
}
