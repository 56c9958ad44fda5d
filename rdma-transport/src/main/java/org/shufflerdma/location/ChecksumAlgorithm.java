/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * How the checksums of a map output's partitions were computed. The codes are part of the
 * descriptor's wire format: never renumber them.
 */
public enum ChecksumAlgorithm {
  NONE(0),
  CRC32C(1),
  CRC32(2),
  ADLER32(3);

  private final int code;

  ChecksumAlgorithm(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }

  static ChecksumAlgorithm ofCode(int code) throws InvalidDescriptorException {
    return switch (code) {
      case 0 -> NONE;
      case 1 -> CRC32C;
      case 2 -> CRC32;
      case 3 -> ADLER32;
      default -> throw new InvalidDescriptorException("unknown checksum algorithm " + code);
    };
  }

  /** A fresh accumulator; {@link #NONE} has none. */
  public Checksum newChecksum() {
    return switch (this) {
      case NONE -> throw new IllegalStateException("blocks of this map output have no checksum");
      case CRC32C -> new CRC32C();
      case CRC32 -> new CRC32();
      case ADLER32 -> new Adler32();
    };
  }
}
