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
 * the trailer as the code {@code 100 + bits}. In a {@link HighlyCompressedMapStatus} it is 16 members of
 * the bitmap of empty blocks, far above any partition, with 12 bits in each: {@code 0x7FFF0000 | (i << 12) | bits}.
 * They are one container, which the driver's heap has for each status. Spark itself never asks for a size beyond R-1.
 *
 * <p>The sizes and the bitmap are written and read by reflection on the status' private field. Anything that is
 * not a trailer is read as none. The class cannot be initialized where a status does not have that field.
 */
public final class MapStatusCarrier {
  private static final int BITS_PER_SIZE = 7;
  private static final int SIZES = (MapOutputTrailer.SIZE_BYTES * Byte.SIZE + 6) / BITS_PER_SIZE;
  private static final int FIRST_CODE = 100;

  private static final int FIRST_MEMBER = 0x7FFF0000;
  private static final int BITS_PER_MEMBER = 12;
  private static final int MEMBERS = MapOutputTrailer.SIZE_BYTES * Byte.SIZE / BITS_PER_MEMBER;

  private static final Field COMPRESSED_SIZES =
      onlyFieldOfType(CompressedMapStatus.class, byte[].class);
  private static final Field EMPTY_BLOCKS =
      onlyFieldOfType(HighlyCompressedMapStatus.class, RoaringBitmap.class);

  private MapStatusCarrier() {}

  /**
   * Writes the trailer into {@code status}.
   *
   * @return false if this class or form of status cannot carry one; it is unchanged then
   */
  public static boolean write(MapStatus status, int partitions, MapOutputTrailer trailer) {
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

  private static boolean appendSizes(MapStatus status, int partitions, byte[] trailer) {
    byte[] sizes = (byte[]) valueOf(COMPRESSED_SIZES, status);
    if (sizes.length != partitions) {
      return false;
    }
    byte[] extended = Arrays.copyOf(sizes, partitions + SIZES);
    for (int i = 0; i < SIZES; i++) {
      extended[partitions + i] = (byte) (FIRST_CODE + bitsAt(trailer, i, BITS_PER_SIZE));
    }
    try {
      COMPRESSED_SIZES.set(status, extended);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // it is accessible
    }
    return true;
  }

  private static boolean readSizes(MapStatus status, int partitions, byte[] trailer) {
    byte[] sizes = (byte[]) valueOf(COMPRESSED_SIZES, status);
    if (sizes.length != partitions + SIZES) {
      return false;
    }
    for (int i = 0; i < SIZES; i++) {
      int bits = Byte.toUnsignedInt(sizes[partitions + i]) - FIRST_CODE;
      if (bits < 0 || bits >= 1 << BITS_PER_SIZE) {
        return false;
      }
      setBitsAt(trailer, i, BITS_PER_SIZE, bits);
    }
    return true;
  }

  private static boolean addMembers(MapStatus status, byte[] trailer) {
    RoaringBitmap emptyBlocks = (RoaringBitmap) valueOf(EMPTY_BLOCKS, status);
    for (int i = 0; i < MEMBERS; i++) {
      emptyBlocks.add(firstMember(i) | bitsAt(trailer, i, BITS_PER_MEMBER));
    }
    return true;
  }

  private static boolean readMembers(MapStatus status, byte[] trailer) {
    RoaringBitmap emptyBlocks = (RoaringBitmap) valueOf(EMPTY_BLOCKS, status);
    for (int i = 0; i < MEMBERS; i++) {
      long bits = emptyBlocks.nextValue(firstMember(i)) - firstMember(i);
      if (bits < 0 || bits >= 1 << BITS_PER_MEMBER) {
        return false;
      }
      setBitsAt(trailer, i, BITS_PER_MEMBER, (int) bits);
    }
    return true;
  }

  /** The one for bits that are all 0. */
  private static int firstMember(int i) {
    return FIRST_MEMBER | (i << BITS_PER_MEMBER);
  }

  private static Object valueOf(Field field, MapStatus status) {
    try {
      return field.get(status);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // it is accessible
    }
  }

  /**
   * The field is found by its type, as Scala versions give it different names. A class with two
   * fields of the type is refused: writing to the wrong one could change what Spark reads.
   *
   * @throws NoSuchFieldError if the class does not have exactly one
   */
  static Field onlyFieldOfType(Class<?> owner, Class<?> type) {
    List<Field> fields = new ArrayList<>();
    for (Field field : owner.getDeclaredFields()) {
      if (field.getType() == type) {
        fields.add(field);
      }
    }
    if (fields.size() != 1) {
      throw new NoSuchFieldError(
          owner.getName() + " has " + fields.size() + " fields of " + type.getName());
    }
    fields.get(0).setAccessible(true);
    return fields.get(0);
  }

  /** Group {@code i} of so many bits, lowest first, which lie in two bytes at most; bits past the end are 0. */
  private static int bitsAt(byte[] bytes, int i, int count) {
    int bit = i * count;
    int low = Byte.toUnsignedInt(bytes[bit >> 3]);
    int high = (bit >> 3) + 1 < bytes.length ? Byte.toUnsignedInt(bytes[(bit >> 3) + 1]) : 0;
    return ((low | high << Byte.SIZE) >> (bit & 7)) & ((1 << count) - 1);
  }

  private static void setBitsAt(byte[] bytes, int i, int count, int value) {
    int bit = i * count;
    int shifted = value << (bit & 7);
    bytes[bit >> 3] |= (byte) shifted;
    if ((bit >> 3) + 1 < bytes.length) {
      bytes[(bit >> 3) + 1] |= (byte) (shifted >> Byte.SIZE);
    }
  }
}
