/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.scheduler.CompressedMapStatus;
import org.apache.spark.scheduler.HighlyCompressedMapStatus;
import org.apache.spark.scheduler.MapStatus;
import org.roaringbitmap.RoaringBitmap;
import org.shufflerdma.location.MapOutputTrailer;

/**
 * Hides a trailer inside Spark's own map status objects and finds it again, so that no class of
 * this plugin is ever serialized: the trailer travels wherever the status travels.
 *
 * <p>In a {@link CompressedMapStatus} of R partitions it is the sizes R..R+27: each holds 7 bits of
 * the trailer as the code {@code 100 + bits}, because Spark decompresses codes from 26 up to
 * distinct sizes. In a {@link HighlyCompressedMapStatus} it is 48 members of the bitmap of empty
 * blocks, far above any partition: {@code 0x7FFF0000 | (i << 4) | nibble i}, one bitmap container.
 * Spark itself never asks for a size beyond R-1.
 *
 * <p>The sizes and the bitmap are written, and the bitmap is read, by reflection on the status'
 * private field: {@link MapStatus#getSizeForBlock} does not show the bitmap where the average size of
 * the blocks is 0, which it is when every non-empty block is recorded as a large one. Anything that is
 * not a trailer is read as none.
 */
public final class MapStatusCarrier {
  private static final int BITS_PER_SIZE = 7;
  private static final int SIZES = (MapOutputTrailer.SIZE_BYTES * Byte.SIZE + 6) / BITS_PER_SIZE;
  private static final int FIRST_CODE = 100;
  private static final double LOG_BASE = 1.1; // of MapStatus.compressSize
  private static final long[] SIZE_OF_BITS = sizeOfBits();

  private static final int FIRST_MEMBER = 0x7FFF0000;
  private static final int NIBBLES = MapOutputTrailer.SIZE_BYTES * 2;

  private MapStatusCarrier() {}

  /**
   * Writes the trailer into {@code status}.
   *
   * @return false if this class or form of status cannot carry one; it is unchanged then
   * @throws ReflectiveOperationException if the status' class does not have the one field for it; the
   *     status is unchanged then
   */
  public static boolean write(MapStatus status, int partitions, MapOutputTrailer trailer)
      throws ReflectiveOperationException {
    if (status instanceof CompressedMapStatus) {
      return appendSizes(status, partitions, trailer.encode());
    }
    if (status instanceof HighlyCompressedMapStatus) {
      return addMembers(status, trailer.encode());
    }
    return false;
  }

  public static Optional<MapOutputTrailer> read(MapStatus status, int partitions) {
    byte[] trailer = new byte[MapOutputTrailer.SIZE_BYTES];
    boolean complete;
    if (status instanceof CompressedMapStatus) {
      complete = readSizes(status, partitions, trailer);
    } else if (status instanceof HighlyCompressedMapStatus) {
      complete = readMembers(status, trailer);
    } else {
      complete = false;
    }
    return complete ? MapOutputTrailer.decode(trailer) : Optional.empty();
  }

  private static boolean appendSizes(MapStatus status, int partitions, byte[] trailer)
      throws ReflectiveOperationException {
    Field field = onlyFieldOfType(CompressedMapStatus.class, byte[].class);
    byte[] sizes = (byte[]) field.get(status);
    if (sizes.length != partitions) {
      return false;
    }
    byte[] extended = Arrays.copyOf(sizes, partitions + SIZES);
    for (int i = 0; i < SIZES; i++) {
      extended[partitions + i] = (byte) (FIRST_CODE + bitsAt(trailer, i * BITS_PER_SIZE));
    }
    field.set(status, extended);
    return true;
  }

  private static boolean readSizes(MapStatus status, int partitions, byte[] trailer) {
    try {
      for (int i = 0; i < SIZES; i++) {
        int bits = Arrays.binarySearch(SIZE_OF_BITS, status.getSizeForBlock(partitions + i));
        if (bits < 0) {
          return false;
        }
        setBitsAt(trailer, i * BITS_PER_SIZE, bits);
      }
      return true;
    } catch (ArrayIndexOutOfBoundsException e) {
      return false; // the status ends with its last partition, so it carries no trailer
    }
  }

  private static boolean addMembers(MapStatus status, byte[] trailer)
      throws ReflectiveOperationException {
    RoaringBitmap emptyBlocks = emptyBlocksOf(status);
    for (int i = 0; i < NIBBLES; i++) {
      int nibble = (trailer[i >> 1] >> ((i & 1) * 4)) & 0xF;
      emptyBlocks.add(FIRST_MEMBER | (i << 4) | nibble);
    }
    return true;
  }

  private static boolean readMembers(MapStatus status, byte[] trailer) {
    RoaringBitmap emptyBlocks;
    try {
      emptyBlocks = emptyBlocksOf(status);
    } catch (ReflectiveOperationException e) {
      return false; // the writer, which runs the same Spark, could not write a trailer either
    }
    for (int i = 0; i < NIBBLES; i++) {
      int first = FIRST_MEMBER | (i << 4);
      long nibble = emptyBlocks.nextValue(first) - first;
      if (nibble < 0 || nibble > 0xF) {
        return false;
      }
      trailer[i >> 1] |= (byte) (nibble << ((i & 1) * 4));
    }
    return true;
  }

  private static RoaringBitmap emptyBlocksOf(MapStatus status) throws ReflectiveOperationException {
    return (RoaringBitmap)
        onlyFieldOfType(HighlyCompressedMapStatus.class, RoaringBitmap.class).get(status);
  }

  /**
   * The field is found by its type, as Scala versions give it different names. A class with two
   * fields of the type is refused: writing to the wrong one could change what Spark reads.
   */
  static Field onlyFieldOfType(Class<?> owner, Class<?> type) throws NoSuchFieldException {
    List<Field> fields = new ArrayList<>();
    for (Field field : owner.getDeclaredFields()) {
      if (field.getType() == type) {
        fields.add(field);
      }
    }
    if (fields.size() != 1) {
      throw new NoSuchFieldException(
          owner.getName() + " has " + fields.size() + " fields of " + type.getName());
    }
    fields.get(0).setAccessible(true);
    return fields.get(0);
  }

  /** Seven bits from {@code bit} on, lowest first; bits past the end are 0. */
  private static int bitsAt(byte[] bytes, int bit) {
    int low = Byte.toUnsignedInt(bytes[bit >> 3]);
    int high = (bit >> 3) + 1 < bytes.length ? Byte.toUnsignedInt(bytes[(bit >> 3) + 1]) : 0;
    return ((low | high << Byte.SIZE) >> (bit & 7)) & 0x7F;
  }

  private static void setBitsAt(byte[] bytes, int bit, int value) {
    int shifted = value << (bit & 7);
    bytes[bit >> 3] |= (byte) shifted;
    if ((bit >> 3) + 1 < bytes.length) {
      bytes[(bit >> 3) + 1] |= (byte) (shifted >> Byte.SIZE);
    }
  }

  private static long[] sizeOfBits() {
    long[] sizes = new long[1 << BITS_PER_SIZE];
    for (int bits = 0; bits < sizes.length; bits++) {
      sizes[bits] = (long) Math.pow(LOG_BASE, FIRST_CODE + bits);
    }
    return sizes;
  }
}
