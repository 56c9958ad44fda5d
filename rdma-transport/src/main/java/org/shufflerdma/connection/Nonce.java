/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * 128 random bits that name one run of one transport: a restarted executor at the same address has
 * another one. Published with the endpoint, so not a secret.
 */
public record Nonce(long high, long low) {
  public static final int SIZE_BYTES = 16;

  public static Nonce random() {
    SecureRandom random = new SecureRandom();
    return new Nonce(random.nextLong(), random.nextLong());
  }

  public static Nonce ofHex(String hex) {
    if (hex.length() != 2 * SIZE_BYTES) {
      throw new IllegalArgumentException("a nonce has 32 hexadecimal digits: " + hex);
    }
    return new Nonce(
        Long.parseUnsignedLong(hex, 0, SIZE_BYTES, 16),
        Long.parseUnsignedLong(hex, SIZE_BYTES, 2 * SIZE_BYTES, 16));
  }

  public static Nonce read(ByteBuffer in) {
    return new Nonce(in.getLong(), in.getLong());
  }

  public void write(ByteBuffer out) {
    out.putLong(high).putLong(low);
  }

  public String toHex() {
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(high) + hex.toHexDigits(low);
  }

  // Written out, because those of a record are linked at run time, at a cost to each new executor.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Nonce that && high == that.high && low == that.low;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(high ^ low);
  }

  /** The first eight digits, for log lines. */
  @Override
  public String toString() {
    return toHex().substring(0, 8);
  }
}
