/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/** One run of one executor: after a restart it is another peer. */
public record PeerId(String executorId, RdmaEndpoint endpoint) {
  @Override
  public String toString() {
    return executorId + "@" + endpoint;
  }
}
