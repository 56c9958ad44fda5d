/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.charset.StandardCharsets;
import org.shufflerdma.crypto.HmacSha256;

/**
 * Who this process is to its peers.
 *
 * @param secret what all executors of the application share; the handshake proves it is known. That of a node
 *     service is derived from theirs
 */
@SuppressWarnings("ArrayRecordComponent")
public record LocalIdentity(String appId, String executorId, byte[] secret) {
  private static final String NODE_SERVICE_PURPOSE = "node-service-v1";

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

  /** A key that the executors of this application share, for one purpose: HMAC-SHA256(secret, purpose ‖ app id). */
  public byte[] key(String purpose) {
    return new HmacSha256(secret)
        .of(purpose.getBytes(StandardCharsets.UTF_8), appId.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * The key for one purpose of connections to the server with this executor id. Executors share one with the
   * node services of their hosts, from which those cannot derive what executors prove to one another.
   */
  public byte[] keyFor(String serverId, String purpose) {
    boolean isOneself = executorId.equals(serverId);
    return serverId.equals(PeerId.NODE_SERVICE) && !isOneself
        ? forNodeService().key(purpose)
        : key(purpose);
  }

  /** Who a node service is for this application. */
  public LocalIdentity forNodeService() {
    return new LocalIdentity(appId, PeerId.NODE_SERVICE, key(NODE_SERVICE_PURPOSE));
  }

  @Override
  public String toString() {
    return executorId + " of " + appId;
  }
}
