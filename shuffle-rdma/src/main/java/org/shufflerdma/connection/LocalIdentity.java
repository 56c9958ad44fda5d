/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/**
 * Who this process is to its peers.
 *
 * @param secret what all executors of the application share; the handshake proves it is known
 */
@SuppressWarnings("ArrayRecordComponent")
public record LocalIdentity(String appId, String executorId, byte[] secret) {
  public LocalIdentity {
    if (secret.length == 0) {
      throw new IllegalArgumentException("the application's secret is empty");
    }
    secret = secret.clone();
  }

  @Override
  public byte[] secret() {
    return secret.clone();
  }

  @Override
  public String toString() {
    return executorId + " of " + appId;
  }
}
