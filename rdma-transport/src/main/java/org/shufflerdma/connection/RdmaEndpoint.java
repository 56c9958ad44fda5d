/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.jspecify.annotations.Nullable;

/**
 * Where one run of an executor accepts RDMA connections.
 *
 * @param host name or address literal
 */
public record RdmaEndpoint(String host, int port, Nonce bootNonce) {
  public RdmaEndpoint {
    if (host.isEmpty() || port < 1 || port > 0xFFFF) {
      throw new IllegalArgumentException("no endpoint: " + host + ":" + port);
    }
  }

  // Written out, because those of a record are linked at run time, at a cost to each new executor.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RdmaEndpoint that
        && port == that.port
        && host.equals(that.host)
        && bootNonce.equals(that.bootNonce);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * host.hashCode() + port) + bootNonce.hashCode();
  }

  @Override
  public String toString() {
    String address = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return address + ":" + port + " nonce=" + bootNonce;
  }
}
