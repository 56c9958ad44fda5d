/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static java.lang.invoke.MethodType.methodType;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.ShuffleDependency;
import org.jspecify.annotations.Nullable;

/**
 * Spark's checksums of the records of each partition, which do not depend on their order. By them the driver sees whether a map
 * that ran again has made the same records. Spark has them since 4.1 ({@code ShuffleDependency.rowBasedChecksums}), for shuffles of
 * SQL, by default since 4.2. One per map task, for its thread.
 */
final class RecordChecksums {
  private static final Object[] NONE = {};

  /** Gives an array of checksums; null before Spark 4.1. */
  private static final @Nullable Method OF_SHUFFLE = Arrays.stream(
          ShuffleDependency.class.getMethods())
      .filter(method -> method.getName().equals("rowBasedChecksums"))
      .findFirst()
      .orElse(null);

  /** {@code checksum.update(key, value)}. */
  private static final @Nullable MethodHandle UPDATE =
      method("update", methodType(void.class, Object.class, Object.class, Object.class));

  /** {@code RowBasedChecksum.getAggregatedChecksumValue(checksums)}. */
  private static final @Nullable MethodHandle TOTAL =
      method("getAggregatedChecksumValue", methodType(long.class, Object.class));

  private final Object[] ofPartitions;

  private RecordChecksums(Object[] ofPartitions) {
    this.ofPartitions = ofPartitions;
  }

  /** Returns null where Spark has no such method. */
  private static @Nullable MethodHandle method(String name, MethodType type) {
    if (OF_SHUFFLE == null) {
      return null;
    }
    try {
      for (Method method : OF_SHUFFLE.getReturnType().getComponentType().getMethods()) {
        if (method.getName().equals(name)) {
          return MethodHandles.publicLookup().unreflect(method).asType(type);
        }
      }
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // getMethods has public ones
    }
    return null;
  }

  /** Whether Spark keeps none of the shuffle, or they can be computed here. */
  static boolean areKnown(ShuffleDependency<?, ?, ?> shuffle) {
    return checksums(shuffle).length == 0 || (UPDATE != null && TOTAL != null);
  }

  /** Returns null if Spark keeps none of the shuffle. */
  static @Nullable RecordChecksums of(ShuffleDependency<?, ?, ?> shuffle) {
    Object[] checksums = checksums(shuffle);
    return checksums.length == 0 ? null : new RecordChecksums(checksums);
  }

  private static Object[] checksums(ShuffleDependency<?, ?, ?> shuffle) {
    try {
      return OF_SHUFFLE == null
          ? NONE
          : (Object[]) Objects.requireNonNull(OF_SHUFFLE.invoke(shuffle));
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e); // it is public, and returns a field
    }
  }

  void add(int partition, Object key, Object value) {
    try {
      Objects.requireNonNull(UPDATE).invokeExact(ofPartitions[partition], key, value);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** What Spark's map status has of them. */
  long total() {
    try {
      return (long) Objects.requireNonNull(TOTAL).invokeExact((Object) ofPartitions);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Spark's methods declare no checked exceptions. */
  private static RuntimeException unexpected(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return e instanceof RuntimeException known ? known : new IllegalStateException(e);
  }
}
