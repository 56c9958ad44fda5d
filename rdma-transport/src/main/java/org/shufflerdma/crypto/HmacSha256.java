/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.crypto;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HMAC-SHA256 (RFC 2104) under one key. Immutable; any thread may call. */
public final class HmacSha256 {
  private static final String ALGORITHM = "HmacSHA256";

  private final SecretKeySpec key;

  public HmacSha256(byte[] key) {
    this.key = new SecretKeySpec(key, ALGORITHM);
  }

  /** The 32 bytes over the parts, one after the other. */
  public byte[] of(byte[]... parts) {
    Mac mac = mac();
    for (byte[] part : parts) {
      mac.update(part);
    }
    return mac.doFinal();
  }

  /** The 32 bytes over {@code head} and what remains in {@code content}. */
  public byte[] of(byte[] head, ByteBuffer content) {
    Mac mac = mac();
    mac.update(head);
    mac.update(content);
    return mac.doFinal();
  }

  private Mac mac() {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return mac;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + ALGORITHM, e);
    }
  }
}
