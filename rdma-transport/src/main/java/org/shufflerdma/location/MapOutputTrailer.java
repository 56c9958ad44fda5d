/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The 24 bytes that travel inside a map status and lead to the map output's descriptor. All fields
 * are little-endian.
 *
 * <pre>
 *  byte 0       1         2           4               8            12
 *      +-------+---------+-----------+---------------+------------+
 *      | magic | version | check (2) | executor hash | generation |
 *      +-------+---------+-----------+---------------+------------+
 *  12  | descriptor rkey (4)         | descriptor address (8)     |
 *      +-----------------------------+----------------------------+
 * </pre>
 *
 * The check is the CRC32C of the trailer with a check of zero, folded to 16 bits. The executor hash tells a
 * migrated block: it names the owner of the memory, not the current holder of the file.
 *
 * @param generation of the publication, as in the descriptor; unsigned 32 bits
 */
public record MapOutputTrailer(
    int executorHash, long generation, int descriptorRkey, long descriptorAddress) {
  public static final int SIZE_BYTES = 24;

  private static final byte MAGIC = (byte) 0xD5;
  private static final byte VERSION = 1;
  private static final int CHECK_AT = 2;
  private static final int EXECUTOR_HASH_AT = 4;
  private static final int GENERATION_AT = 8;
  private static final int RKEY_AT = 12;
  private static final int ADDRESS_AT = 16;
  private static final long MAX_GENERATION = 0xFFFF_FFFFL;

  public MapOutputTrailer {
    if (generation < 0 || generation > MAX_GENERATION) {
      throw new IllegalArgumentException("generation " + generation + " does not fit into 32 bits");
    }
  }

  /** Returns a hash that is the same in all JVMs and versions. */
  public static int hashExecutorId(String executorId) {
    CRC32C crc = new CRC32C();
    byte[] bytes = executorId.getBytes(StandardCharsets.UTF_8);
    crc.update(bytes, 0, bytes.length);
    return (int) crc.getValue();
  }

  public boolean isOf(String executorId) {
    return executorHash == hashExecutorId(executorId);
  }

  public byte[] encode() {
    ByteBuffer bytes = ByteBuffer.allocate(SIZE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(0, MAGIC);
    bytes.put(1, VERSION);
    bytes.putInt(EXECUTOR_HASH_AT, executorHash);
    bytes.putInt(GENERATION_AT, (int) generation);
    bytes.putInt(RKEY_AT, descriptorRkey);
    bytes.putLong(ADDRESS_AT, descriptorAddress);
    bytes.putShort(CHECK_AT, check(bytes.array()));
    return bytes.array();
  }

  /** Decodes the bytes; empty unless {@link #encode} of this version could have made them. */
  public static Optional<MapOutputTrailer> decode(byte[] encoded) {
    if (encoded.length != SIZE_BYTES || encoded[0] != MAGIC || encoded[1] != VERSION) {
      return Optional.empty();
    }
    ByteBuffer bytes = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.getShort(CHECK_AT) != check(encoded)) {
      return Optional.empty();
    }
    return Optional.of(new MapOutputTrailer(
        bytes.getInt(EXECUTOR_HASH_AT),
        Integer.toUnsignedLong(bytes.getInt(GENERATION_AT)),
        bytes.getInt(RKEY_AT),
        bytes.getLong(ADDRESS_AT)));
  }

  private static short check(byte[] encoded) {
    byte[] covered = Arrays.copyOf(encoded, SIZE_BYTES);
    covered[CHECK_AT] = 0;
    covered[CHECK_AT + 1] = 0;
    CRC32C crc = new CRC32C();
    crc.update(covered, 0, SIZE_BYTES);
    long value = crc.getValue();
    return (short) (value ^ (value >>> Short.SIZE));
  }
}
