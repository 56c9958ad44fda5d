/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Tells a descriptor from whatever else has its form: only who knows the application's secret can
 * seal one, and a seal is good at one address alone. Records of users that look like a descriptor,
 * which any map output may hold, and copies of real ones have none. Immutable; any thread may call.
 */
public final class DescriptorSeal {
  /** What the key is derived for. */
  public static final String PURPOSE = "rdma-descriptor-v2";

  static final int SIZE_BYTES = 12;
  private static final String MAC_ALGORITHM = "HmacSHA256";

  private final SecretKeySpec key;

  /**
   * @param key of the application's executors, used for nothing else
   */
  public DescriptorSeal(byte[] key) {
    this.key = new SecretKeySpec(key, MAC_ALGORITHM);
  }

  /** The first bytes of HMAC-SHA256 over the address, big-endian, and the content. */
  byte[] of(long address, ByteBuffer content) {
    try {
      Mac mac = Mac.getInstance(MAC_ALGORITHM);
      mac.init(key);
      mac.update(ByteBuffer.allocate(Long.BYTES).putLong(0, address));
      mac.update(content);
      return Arrays.copyOf(mac.doFinal(), SIZE_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + MAC_ALGORITHM, e);
    }
  }

  boolean matches(byte[] seal, long address, ByteBuffer content) {
    return MessageDigest.isEqual(of(address, content), seal);
  }
}
