/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Shuffles of records of a 10-byte key and a 90-byte value, which the maps generate. */
final class RowJobs {
  private static final int VALUE_BYTES = 90;
  private static final int NUMBER_AT = 0;
  private static final int FILLER_AT = 8;

  private RowJobs() {}

  /** Sorts by range; each partition is in order. */
  static long sort(JavaSparkContext spark, long rows, int maps, int reduces) {
    return digest(
        generated(spark, rows, maps).repartitionAndSortWithinPartitions(new KeyRange(reduces)),
        rows,
        true,
        RowJobs::checksum);
  }

  /** Moves the records to where {@link #sort} would, and leaves them as they come. */
  static long repartition(JavaSparkContext spark, long rows, int maps, int reduces) {
    return digest(moved(spark, rows, maps, reduces), rows, false, RowJobs::checksum);
  }

  static JavaPairRDD<Key, byte[]> moved(JavaSparkContext spark, long rows, int maps, int reduces) {
    return generated(spark, rows, maps).partitionBy(new KeyRange(reduces));
  }

  private static JavaPairRDD<Key, byte[]> generated(JavaSparkContext spark, long rows, int maps) {
    List<Integer> numbers = IntStream.range(0, maps).boxed().toList();
    return spark.parallelize(numbers, maps).mapPartitionsToPair(map -> {
      long number = map.next();
      return new Generated(rows * number / maps, rows * (number + 1) / maps);
    });
  }

  private static ToLongFunction<Tuple2<Key, byte[]>> checksum() {
    CRC32 crc = new CRC32();
    return record -> {
      crc.reset();
      record._1().update(crc);
      crc.update(record._2());
      return crc.getValue();
    };
  }

  /** Makes the function, one for each partition, that turns a record into the number that is summed up. */
  interface RecordDigest<K, V> extends Supplier<ToLongFunction<Tuple2<K, V>>>, Serializable {}

  /** Sums up such a number of each record. The shuffle's files are given back before it returns. */
  static <K extends Comparable<K>, V> long digest(
      JavaPairRDD<K, V> shuffled, long rows, boolean sorted, RecordDigest<K, V> digestOfRecord) {
    List<long[]> digests = shuffled
        .mapPartitions(records -> {
          ToLongFunction<Tuple2<K, V>> number = digestOfRecord.get();
          long count = 0;
          long sum = 0;
          K before = null;
          while (records.hasNext()) {
            Tuple2<K, V> record = records.next();
            if (sorted && before != null && before.compareTo(record._1()) > 0) {
              throw new IllegalStateException("record " + count + " is out of order");
            }
            before = record._1();
            sum += number.applyAsLong(record);
            count++;
          }
          return List.of(new long[] {count, sum}).iterator();
        })
        .collect();
    shuffled.rdd().cleanShuffleDependencies(true);
    long count = digests.stream().mapToLong(digest -> digest[0]).sum();
    if (count != rows) {
      throw new IllegalStateException(count + " records came instead of " + rows);
    }
    return digests.stream().mapToLong(digest -> digest[1]).sum();
  }

  /** Generates records {@code [next, end)}, new objects each. */
  private static final class Generated implements Iterator<Tuple2<Key, byte[]>> {
    private final long end;
    private long next;

    Generated(long next, long end) {
      this.next = next;
      this.end = end;
    }

    @Override
    public boolean hasNext() {
      return next < end;
    }

    @Override
    public Tuple2<Key, byte[]> next() {
      if (!hasNext()) {
        throw new NoSuchElementException("all records have been generated");
      }
      long number = next++;
      return new Tuple2<>(Key.ofNumber(number), value(number));
    }

    /** The number of the record, and letters that repeat as those of TeraGen do. */
    private static byte[] value(long number) {
      byte[] value = new byte[VALUE_BYTES];
      for (int i = 0; i < Long.BYTES; i++) {
        value[NUMBER_AT + i] = (byte) (number >>> (8 * i));
      }
      long letters = Key.mix(number + 1);
      for (int i = FILLER_AT; i < VALUE_BYTES; i++) {
        value[i] = (byte) ('A' + (letters >>> (i / 8 * 4) & 15));
      }
      return value;
    }
  }
}
