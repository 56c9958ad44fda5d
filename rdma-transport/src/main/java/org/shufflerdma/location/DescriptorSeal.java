/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import org.shufflerdma.crypto.HmacSha256;

/**
 * Tells a descriptor from whatever else has its form: only who knows the application's secret can
 * seal one, and a seal is good at one address alone. Records of users that look like a descriptor,
 * which any map output may hold, and copies of real ones have none. Immutable; any thread may call.
 */
public final class DescriptorSeal {
  /** The purpose from which the key is derived. */
  public static final String PURPOSE = "rdma-descriptor-v2";

  static final int SIZE_BYTES = 12;

  private final HmacSha256 hmac;

  /**
   * @param key of the application's executors, used for nothing else
   */
  public DescriptorSeal(byte[] key) {
    hmac = new HmacSha256(key);
  }

  /** The first bytes of HMAC-SHA256 over the address, big-endian, and the content. */
  byte[] of(long address, ByteBuffer content) {
    byte[] head = ByteBuffer.allocate(Long.BYTES).putLong(0, address).array();
    return Arrays.copyOf(hmac.of(head, content), SIZE_BYTES);
  }

  boolean matches(byte[] seal, long address, ByteBuffer content) {
    return MessageDigest.isEqual(of(address, content), seal);
  }
}
