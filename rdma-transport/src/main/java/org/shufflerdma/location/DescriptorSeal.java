/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import org.shufflerdma.crypto.HmacSha256;

/**
 * Seals descriptors and checks their seals. Only executors that know the application's secret can
 * seal a descriptor, and a seal is valid at one address only. User records that look like a
 * descriptor, and copies of real ones, have no valid seal. Immutable; any thread may call.
 */
public final class DescriptorSeal {
  /** The purpose from which the key is derived. */
  public static final String PURPOSE = "rdma-descriptor-v2";

  static final int SIZE_BYTES = 12;

  private final HmacSha256 hmac;

  /**
   * @param key shared by the application's executors and used for nothing else
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
