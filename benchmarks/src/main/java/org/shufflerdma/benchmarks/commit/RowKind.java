/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.util.Iterator;
import java.util.Locale;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;

/** Rows as Spark SQL shuffles them. They are made once, so that a writer's records cost next to nothing. */
@SuppressWarnings("ImmutableEnumChecker") // nobody changes the rows
enum RowKind {
  /** Two numbers. */
  NARROW(2, 8192),
  /** Two numbers and eighteen strings of some 20 bytes. */
  WIDE(20, 1024);

  private static final int NUMBERS = 2;

  final int columns;

  private final UnsafeRow[] rows;

  RowKind(int columns, int rows) {
    this.columns = columns;
    this.rows =
        IntStream.range(0, rows).mapToObj(number -> row(columns, number)).toArray(UnsafeRow[]::new);
  }

  private static UnsafeRow row(int columns, int number) {
    UnsafeRowWriter writer = new UnsafeRowWriter(columns, columns * 32);
    writer.reset();
    for (int i = 0; i < columns; i++) {
      long value = (long) hash(number, i) << Integer.SIZE | number;
      if (i < NUMBERS) {
        writer.write(i, value);
      } else {
        writer.write(i, UTF8String.fromString("c" + value));
      }
    }
    return writer.getRow().copy();
  }

  private static int hash(long number, int seed) {
    return Murmur3_x86_32.hashLong(number, seed);
  }

  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** How many rows have about so many bytes in memory; at least one. */
  int rowsOf(long bytes) {
    return (int) Math.max(1, bytes / rows[0].getSizeInBytes());
  }

  /** Rows with the partitions that they are for, which come in no order. */
  Iterator<Tuple2<Integer, UnsafeRow>> take(int map, int count, int partitions) {
    return IntStream.range(0, count)
        .mapToObj(i -> new Tuple2<>(
            Math.floorMod(hash(map * (long) count + i, 0), partitions), rows[i % rows.length]))
        .iterator();
  }
}
