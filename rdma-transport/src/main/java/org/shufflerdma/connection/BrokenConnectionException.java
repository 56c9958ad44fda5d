/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;

/** A connection that can no longer be used. */
public final class BrokenConnectionException extends IOException {
  private static final long serialVersionUID = 1L;

  private final transient Breakage breakage;

  BrokenConnectionException(PeerId peer, Breakage breakage) {
    super("RDMA connection to " + peer + " broke: " + breakage, breakage.cause());
    this.breakage = breakage;
  }

  public Breakage breakage() {
    return breakage;
  }
}
