/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** {@code enum ibv_mtu}: 1 is 256 bytes, 5 is 4096. */
public final class Mtu {
  public static final int LARGEST_BYTES = 4096;

  private static final int SMALLEST_BYTES = 256;

  private Mtu() {}

  /** Converts the enum value to bytes; 0 for a value that is no MTU. */
  static int toBytes(int ibvMtu) {
    return ibvMtu >= 1 && ibvMtu <= 5 ? 128 << ibvMtu : 0;
  }

  static int toEnum(int bytes) {
    if (Integer.bitCount(bytes) != 1 || bytes < SMALLEST_BYTES || bytes > LARGEST_BYTES) {
      throw new IllegalArgumentException(
          "MTU is " + bytes + ", allowed are 256, 512, 1024, 2048 and 4096");
    }
    return Integer.numberOfTrailingZeros(bytes / SMALLEST_BYTES) + 1;
  }
}
