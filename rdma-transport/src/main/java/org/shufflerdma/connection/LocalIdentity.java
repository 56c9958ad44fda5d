/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Who this process is to its peers.
 *
 * @param secret what all executors of the application share; the handshake proves it is known
 */
@SuppressWarnings("ArrayRecordComponent")
public record LocalIdentity(String appId, String executorId, byte[] secret) {
  private static final String MAC_ALGORITHM = "HmacSHA256";

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
    try {
      Mac mac = Mac.getInstance(MAC_ALGORITHM);
      mac.init(new SecretKeySpec(secret, MAC_ALGORITHM));
      mac.update(purpose.getBytes(StandardCharsets.UTF_8));
      mac.update(appId.getBytes(StandardCharsets.UTF_8));
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + MAC_ALGORITHM, e);
    }
  }

  @Override
  public String toString() {
    return executorId + " of " + appId;
  }
}
