/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.charset.StandardCharsets;
import org.shufflerdma.crypto.HmacSha256;

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

  /** A key that the executors of this application share, for one purpose: HMAC-SHA256(secret, purpose ‖ app id). */
  public byte[] key(String purpose) {
    return new HmacSha256(secret)
        .of(purpose.getBytes(StandardCharsets.UTF_8), appId.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public String toString() {
    return executorId + " of " + appId;
  }
}
