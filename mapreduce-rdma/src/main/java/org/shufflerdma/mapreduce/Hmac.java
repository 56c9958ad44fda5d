/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HMAC-SHA256 under one key (RFC 2104, FIPS 180-4). Used by one thread at a time. */
final class Hmac {
  private static final String ALGORITHM = "HmacSHA256";

  private final Mac mac;

  Hmac(byte[] key) {
    try {
      mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(key, ALGORITHM));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }

  /** The 32 bytes for the parts, one after the other. */
  byte[] of(byte[]... parts) {
    for (byte[] part : parts) {
      mac.update(part);
    }
    return mac.doFinal();
  }

  /** The same for texts, in UTF-8. */
  byte[] of(String... parts) {
    for (String part : parts) {
      mac.update(part.getBytes(StandardCharsets.UTF_8));
    }
    return mac.doFinal();
  }
}
