/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.VerbsException;

/** Takes from a connected queue pair what rdma_cm allows its peer beyond need. */
final class LeastAccess {
  private static final int REMOTE =
      Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC | Access.MW_BIND;

  private LeastAccess() {}

  static void apply(QueuePair queuePair, int allowed) throws VerbsException {
    queuePair.setAccess(allowed);
    int granted = of(queuePair);
    if (granted != allowed) {
      throw new IllegalStateException("queue pair %d allows 0x%x to its peer, not 0x%x"
          .formatted(queuePair.number(), granted, allowed));
    }
  }

  /** What the peer may do, asked of the device. */
  static int of(QueuePair queuePair) throws VerbsException {
    return queuePair.access() & REMOTE;
  }
}
