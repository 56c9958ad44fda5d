/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

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

  @Override
  public String toString() {
    String address = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return address + ":" + port + " nonce=" + bootNonce;
  }
}
