/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.crypto;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * HMAC-SHA256 (RFC 2104) under one key. Immutable; any thread may call. It uses the JDK's SHA-256
 * itself, because a new executor would pay for the providers and policies that {@code javax.crypto}
 * loads before its first MAC. The digests that have taken the key are copied for each MAC, which is
 * cheaper than to ask the providers for new ones, and to have them take it again.
 */
public final class HmacSha256 {
  private static final String DIGEST = "SHA-256";
  private static final int BLOCK_BYTES = 64;

  // Never changed once they have taken the key.
  private final MessageDigest inner;
  private final MessageDigest outer;

  public HmacSha256(byte[] key) {
    byte[] block =
        Arrays.copyOf(key.length > BLOCK_BYTES ? sha256().digest(key) : key, BLOCK_BYTES);
    inner = sha256();
    inner.update(masked(block, (byte) 0x36));
    outer = sha256();
    outer.update(masked(block, (byte) 0x5C));
  }

  /** The 32 bytes over the parts, one after the other. */
  public byte[] of(byte[]... parts) {
    MessageDigest digest = copy(inner);
    for (byte[] part : parts) {
      digest.update(part);
    }
    return finish(digest);
  }

  /** The 32 bytes over {@code head} and what remains in {@code content}. */
  public byte[] of(byte[] head, ByteBuffer content) {
    MessageDigest digest = copy(inner);
    digest.update(head);
    digest.update(content);
    return finish(digest);
  }

  private byte[] finish(MessageDigest digest) {
    return copy(outer).digest(digest.digest());
  }

  private static MessageDigest copy(MessageDigest digest) {
    try {
      return (MessageDigest) digest.clone();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException("the JDK's " + DIGEST + " can be copied", e);
    }
  }

  private static byte[] masked(byte[] block, byte mask) {
    byte[] masked = block.clone();
    for (int i = 0; i < masked.length; i++) {
      masked[i] ^= mask;
    }
    return masked;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance(DIGEST);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has " + DIGEST, e);
    }
  }
}
