/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A task has blocks of a peer to read, until it closes this. Connections to peers in which no task has an interest
 * give way to others first. Any thread may call.
 */
public final class PeerInterest implements AutoCloseable {
  private final PeerState state;
  private final AtomicBoolean ended = new AtomicBoolean();

  PeerInterest(PeerState state) {
    this.state = state;
    state.interestBegins();
  }

  @Override
  public void close() {
    if (ended.compareAndSet(false, true)) {
      state.interestEnds();
    }
  }
}
