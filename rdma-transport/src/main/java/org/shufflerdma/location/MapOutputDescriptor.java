/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.TcpReason;

/**
 * The record in registered memory that tells a reducer where the partitions of one map output lie.
 * The map output's owner writes it before the location is published; reducers fetch it, or a slice
 * of it, by RDMA READ. All fields are little-endian.
 *
 * <pre>
 *  byte  0        4         6                8           12
 *       +--------+---------+----------------+-----------+------------+
 *       | magic  | version |checksum algo.  | shuffleId | partitions |
 *       +--------+---------+----------------+-----------+------------+
 *   16  | mapId (8)                 | generation (8)                 |
 *       +---------------------------+--------------------------------+
 *   32  | data address (8)          | data length (8)                |
 *       +------------------+--------+-----------+--------------------+
 *   48  | data rkey (4)    | seal of 4..51 (12)                      |
 *       +------------------+-----------------------------------------+
 *   64  entry 0 .. entry R (R = partitions), 16 bytes each:
 *       | offset (8)                | checksum (4)     | guard (4)   |
 * </pre>
 *
 * Entry {@code R} holds the end of the last partition and checksum 0. The guard is a mix of
 * generation, index, offset and checksum, so that a slice proves by itself that it belongs to this
 * output. The seal proves that an executor of this application wrote the header for the address at which it
 * stands; see {@link DescriptorSeal}. Withdrawal is one aligned four-byte store over the magic.
 */
public final class MapOutputDescriptor {
  public static final int HEADER_BYTES = 64;
  public static final int ENTRY_BYTES = 16;

  static final int MAGIC = 0x4D445253; // "SRDM"
  static final int WITHDRAWN_MAGIC = 0x47445253; // "SRDG"
  static final int VERSION = 2;

  private static final int MAGIC_AT = 0;
  private static final int VERSION_AT = 4;
  private static final int CHECKSUM_ALGORITHM_AT = 6;
  private static final int SHUFFLE_ID_AT = 8;
  private static final int PARTITIONS_AT = 12;
  private static final int MAP_ID_AT = 16;
  private static final int GENERATION_AT = 24;
  private static final int DATA_ADDRESS_AT = 32;
  private static final int DATA_LENGTH_AT = 40;
  private static final int DATA_RKEY_AT = 48;
  private static final int SEAL_AT = 52;
  private static final int ENTRY_CHECKSUM_AT = 8;
  private static final int ENTRY_GUARD_AT = 12;

  private static final long LOW_HALF = 0xFFFF_FFFFL;

  private MapOutputDescriptor() {}

  /**
   * The content of the first 64 bytes.
   *
   * @param generation number of the publication within its executor; a reused address or map id
   *     never has the same one
   * @param dataAddress remote address of the first byte of the map output
   * @param dataLengthBytes length of the registered data; every partition lies within
   */
  public record Header(
      ChecksumAlgorithm checksumAlgorithm,
      int shuffleId,
      long mapId,
      long generation,
      int partitions,
      long dataAddress,
      long dataLengthBytes,
      int dataRkey) {}

  public static long sizeBytes(int partitions) {
    return entryAt(partitions + 1L);
  }

  /** Bytes from the descriptor's start to the entry of {@code partition}. */
  public static long entryAt(long partition) {
    return HEADER_BYTES + partition * ENTRY_BYTES;
  }

  /**
   * Writes the descriptor at the position of {@code out}, which has room for {@link #sizeBytes}. The
   * entries go there in one piece: the first outputs of an executor are described by interpreted
   * code, in which each access to a buffer is dear.
   *
   * @param address of the descriptor in registered memory
   * @param checksums one per partition; null if and only if the header says NONE
   */
  public static void encode(
      ByteBuffer out,
      long address,
      DescriptorSeal seal,
      Header header,
      long[] partitionLengths,
      int @Nullable [] checksums) {
    int partitions = header.partitions();
    if (partitionLengths.length != partitions) {
      throw new IllegalArgumentException(partitionLengths.length
          + " partition lengths were given for " + partitions + " partitions");
    }
    if ((checksums == null) != (header.checksumAlgorithm() == ChecksumAlgorithm.NONE)) {
      throw new IllegalArgumentException(
          "the checksums do not fit algorithm " + header.checksumAlgorithm());
    }
    ByteBuffer bytes = littleEndian(out);
    Objects.checkFromIndexSize(0L, sizeBytes(partitions), bytes.remaining());
    long[] words = entries(header, partitionLengths, checksums);
    bytes.position(HEADER_BYTES).asLongBuffer().put(words);
    bytes.rewind();
    encodeHeader(bytes, header);
    bytes.put(SEAL_AT, seal.of(address, sealed(bytes)));
  }

  /** In a method of its own, which becomes hot long before the rest and is compiled without it. */
  private static long[] entries(
      Header header, long[] partitionLengths, int @Nullable [] checksums) {
    int partitions = header.partitions();
    long generation = header.generation();
    long[] words = new long[(partitions + 1) * (ENTRY_BYTES / Long.BYTES)];
    int next = 0;
    long offset = 0;
    for (int i = 0; i <= partitions; i++) {
      int checksum = checksums == null || i == partitions ? 0 : checksums[i];
      words[next++] = offset;
      words[next++] =
          ((long) guard(generation, i, offset, checksum) << Integer.SIZE) | (checksum & LOW_HALF);
      if (i < partitions) {
        offset += partitionLengths[i];
      }
    }
    if (offset != header.dataLengthBytes()) {
      throw new IllegalArgumentException(
          "the partitions have " + offset + " bytes, but the data has " + header.dataLengthBytes());
    }
    return words;
  }

  private static void encodeHeader(ByteBuffer bytes, Header header) {
    bytes.putInt(MAGIC_AT, MAGIC);
    bytes.putShort(VERSION_AT, (short) VERSION);
    bytes.putShort(CHECKSUM_ALGORITHM_AT, (short) header.checksumAlgorithm().code());
    bytes.putInt(SHUFFLE_ID_AT, header.shuffleId());
    bytes.putInt(PARTITIONS_AT, header.partitions());
    bytes.putLong(MAP_ID_AT, header.mapId());
    bytes.putLong(GENERATION_AT, header.generation());
    bytes.putLong(DATA_ADDRESS_AT, header.dataAddress());
    bytes.putLong(DATA_LENGTH_AT, header.dataLengthBytes());
    bytes.putInt(DATA_RKEY_AT, header.dataRkey());
  }

  /**
   * Withdraws the descriptor, or begins one that is not complete yet: later READs find no map output
   * there.
   */
  public static void withdraw(ByteBuffer descriptor) {
    littleEndian(descriptor).putInt(MAGIC_AT, WITHDRAWN_MAGIC);
  }

  /**
   * The bytes that the seal covers: the header before it, except the magic, which withdrawal
   * changes.
   */
  private static ByteBuffer sealed(ByteBuffer bytes) {
    return bytes.slice(VERSION_AT, SEAL_AT - VERSION_AT);
  }

  /**
   * Reads and checks the header at the position of {@code in}.
   *
   * @param address from which the peer's memory was read
   */
  public static Header decodeHeader(ByteBuffer in, long address, DescriptorSeal seal)
      throws InvalidDescriptorException {
    ByteBuffer bytes = littleEndian(in);
    if (bytes.remaining() < HEADER_BYTES) {
      throw new InvalidDescriptorException(bytes.remaining() + " bytes are too few for a header");
    }
    int magic = bytes.getInt(MAGIC_AT);
    if (magic == WITHDRAWN_MAGIC) {
      throw new InvalidDescriptorException(
          TcpReason.WITHDRAWN, "its owner has withdrawn the map output");
    }
    if (magic != MAGIC) {
      throw new InvalidDescriptorException("there is no descriptor at this address");
    }
    int version = Short.toUnsignedInt(bytes.getShort(VERSION_AT));
    if (version != VERSION) {
      throw new InvalidDescriptorException(
          "the descriptor has version " + version + " instead of " + VERSION);
    }
    byte[] own = new byte[DescriptorSeal.SIZE_BYTES];
    bytes.get(SEAL_AT, own);
    if (!seal.matches(own, address, sealed(bytes))) {
      throw new InvalidDescriptorException(
          "the seal is not valid for this application and address");
    }
    Header header = new Header(
        ChecksumAlgorithm.ofCode(Short.toUnsignedInt(bytes.getShort(CHECKSUM_ALGORITHM_AT))),
        bytes.getInt(SHUFFLE_ID_AT),
        bytes.getLong(MAP_ID_AT),
        bytes.getLong(GENERATION_AT),
        bytes.getInt(PARTITIONS_AT),
        bytes.getLong(DATA_ADDRESS_AT),
        bytes.getLong(DATA_LENGTH_AT),
        bytes.getInt(DATA_RKEY_AT));
    if (header.partitions() < 1 || header.dataLengthBytes() < 0) {
      throw new InvalidDescriptorException(header.partitions() + " partitions, or a length of "
          + header.dataLengthBytes() + " bytes");
    }
    if (Long.compareUnsigned(header.dataAddress() + header.dataLengthBytes(), header.dataAddress())
        < 0) {
      throw new InvalidDescriptorException("the data wraps around the address space");
    }
    return header;
  }

  /**
   * Reads and checks the entries {@code start..end} (one more than partitions) that begin at the
   * position of {@code in}.
   */
  public static PartitionRanges decodeEntries(ByteBuffer in, Header header, int start, int end)
      throws InvalidDescriptorException {
    if (start < 0 || end <= start || end > header.partitions()) {
      throw new InvalidDescriptorException(
          "partitions " + start + ".." + end + " of " + header.partitions());
    }
    ByteBuffer bytes = littleEndian(in);
    int count = end - start;
    if (bytes.remaining() < (count + 1L) * ENTRY_BYTES) {
      throw new InvalidDescriptorException(
          bytes.remaining() + " bytes are too few for " + (count + 1) + " entries");
    }
    long[] offsets = new long[count + 1];
    int[] checksums = new int[count];
    long previous = 0;
    for (int i = 0; i <= count; i++) {
      int at = i * ENTRY_BYTES;
      long offset = bytes.getLong(at);
      int checksum = bytes.getInt(at + ENTRY_CHECKSUM_AT);
      if (bytes.getInt(at + ENTRY_GUARD_AT)
          != guard(header.generation(), start + i, offset, checksum)) {
        throw new InvalidDescriptorException("entry " + (start + i) + " is not of this output");
      }
      if (offset < previous || offset > header.dataLengthBytes()) {
        throw new InvalidDescriptorException(
            "the offset of entry " + (start + i) + " is out of range");
      }
      previous = offset;
      offsets[i] = offset;
      if (i < count) {
        checksums[i] = checksum;
      }
    }
    return new PartitionRanges(start, offsets, checksums);
  }

  private static ByteBuffer littleEndian(ByteBuffer buffer) {
    return buffer.slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  private static int guard(long generation, int index, long offset, int checksum) {
    long mixed = generation * 0x9E3779B97F4A7C15L + index;
    mixed = (mixed ^ offset) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 31) ^ checksum) * 0x94D049BB133111EBL;
    return (int) (mixed >>> 32);
  }
}
