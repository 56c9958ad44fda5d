/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * Small jobs whose right result is known without Spark. Together they use the plugin's writer and
 * Spark's sorting one.
 */
enum Shape {
  FEW_SMALL_BLOCKS(Way.PARTITION, 4_000, 4, 4, 30),
  MANY_TINY_BLOCKS(Way.PARTITION, 20_000, 8, 64, 10),
  LARGE_BLOCKS(Way.PARTITION, 2_000, 4, 4, 4_000),
  MORE_PARTITIONS_THAN_ARE_MERGED(Way.PARTITION, 8_000, 4, 220, 20),
  /** Each of eight executors has outputs for all others. */
  ALL_TO_ALL(Way.PARTITION, 16_000, 16, 16, 1_000),
  SORTED(Way.SORT, 20_000, 6, 8, 60),
  /** Large records among small ones. */
  SORTED_UNEVEN(Way.SORT_UNEVEN, 8_000, 4, 6, 10),
  COMBINED(Way.COMBINE, 20_000, 6, 8, 40),
  SHUFFLED_TWICE(Way.TWICE, 8_000, 4, 6, 100),
  /** Each task has many inputs open, and takes a row of each in turn. */
  MANY_INPUTS(Way.TOGETHER, 12_000, 4, 4, 60),
  /** Another thread than the task's own reads. */
  SECOND_THREAD(Way.OTHER_THREAD, 8_000, 4, 6, 100),
  /** SQL, whose shuffle may be that of an accelerator. */
  QUERY(Way.SQL, 8_000, 4, 6, 400);

  private enum Way {
    PARTITION,
    SORT,
    SORT_UNEVEN,
    COMBINE,
    TWICE,
    TOGETHER,
    OTHER_THREAD,
    SQL
  }

  static final List<Shape> ALL = List.of(values());

  private static final StructType ROW =
      new StructType().add("key", DataTypes.LongType).add("payload", DataTypes.BinaryType);

  private static final int KEYS = 1_009;
  private static final int INPUTS = 12;
  private static final int LARGE_ROW_BYTES = 6_000;
  private static final int LARGE_ROW_EVERY = 17;
  private static final int TASKS_GONE_MS = 20_000;
  private static final int POLL_MS = 2;

  private final Way way;
  private final int rows;
  private final int maps;
  private final int reduces;
  private final int payloadBytes;

  Shape(Way way, int rows, int maps, int reduces, int payloadBytes) {
    this.way = way;
    this.rows = rows;
    this.maps = maps;
    this.reduces = reduces;
    this.payloadBytes = payloadBytes;
  }

  /** Runs the job and removes its shuffles. */
  Digest run(JavaSparkContext spark) {
    try (Kept kept = keep(spark)) {
      return kept.read();
    }
  }

  /** Returns the job's shuffle for any number of reads, of which the first one writes it. */
  Kept keep(JavaSparkContext spark) {
    return new Kept(spark, shuffled(spark));
  }

  /** A shuffle that stays until it is closed. One thread uses it at a time. */
  final class Kept implements AutoCloseable {
    private final JavaSparkContext spark;
    private final JavaPairRDD<Long, byte[]> shuffled;

    private Kept(JavaSparkContext spark, JavaPairRDD<Long, byte[]> shuffled) {
      this.spark = spark;
      this.shuffled = shuffled;
    }

    Digest read() {
      boolean sorted = way == Way.SORT || way == Way.SORT_UNEVEN;
      boolean isAnywhere = way == Way.SQL; // which has a hash of its own
      int partitions = reduces;
      return shuffled
          .mapPartitionsWithIndex(
              (index, rows) -> digest(index, partitions, isAnywhere, sorted, rows), true)
          .collect()
          .stream()
          .reduce(Digest.NONE, Digest::plus);
    }

    /**
     * Removes the shuffle once no task runs any more. A task of a cancelled job may still ask where
     * the blocks are, and for a shuffle that is gone Spark's driver does not answer within {@code
     * spark.rpc.askTimeout} (MapOutputTrackerMaster.MessageLoop).
     */
    @Override
    public void close() {
      awaitNoTask(spark);
      shuffled.rdd().cleanShuffleDependencies(false);
    }
  }

  private static void awaitNoTask(JavaSparkContext spark) {
    TaskSchedulerImpl scheduler = (TaskSchedulerImpl) spark.sc().taskScheduler();
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TASKS_GONE_MS);
    while (scheduler.runningTasksByExecutors().valuesIterator().exists(tasks -> (Integer) tasks > 0)
        && System.nanoTime() - deadlineNs < 0) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MS));
    }
  }

  private JavaPairRDD<Long, byte[]> shuffled(JavaSparkContext spark) {
    HashPartitioner partitioner = new HashPartitioner(reduces);
    return switch (way) {
      case PARTITION -> pairs(spark, 0, 1).partitionBy(partitioner);
      case SORT, SORT_UNEVEN -> pairs(spark, 0, 1).repartitionAndSortWithinPartitions(partitioner);
      case COMBINE -> pairs(spark, 0, 1).reduceByKey(partitioner, Shape::xor);
      case TWICE -> pairs(spark, 0, 1).repartition(maps + 1).partitionBy(partitioner);
      case TOGETHER -> together(spark, partitioner);
      case OTHER_THREAD ->
        pairs(spark, 0, 1)
            .partitionBy(partitioner)
            .mapPartitionsToPair(rows -> new OtherThread<>(rows, TaskContext.get()), true);
      case SQL ->
        query(spark).toJavaRDD().mapToPair(row -> new Tuple2<>(row.getLong(0), row.getAs(1)));
    };
  }

  private Dataset<Row> query(JavaSparkContext spark) {
    JavaRDD<Row> rows = pairs(spark, 0, 1).map(row -> RowFactory.create(row._1(), row._2()));
    Dataset<Row> table =
        SparkSession.builder().sparkContext(spark.sc()).getOrCreate().createDataFrame(rows, ROW);
    return table.repartition(reduces, table.col("key"));
  }

  /** @throws IllegalStateException if the query's shuffle is not that of DataFusion Comet */
  static void requireComet(JavaSparkContext spark) {
    SparkPlan plan = QUERY.query(spark).queryExecution().executedPlan();
    if (!plan.toString().matches("(?s).*Comet\\w*Exchange.*")) {
      throw new IllegalStateException("Comet does not shuffle the query: " + plan);
    }
  }

  /** Every {@code inputs}-th row. */
  private JavaPairRDD<Long, byte[]> pairs(JavaSparkContext spark, int input, int inputs) {
    List<Integer> numbers =
        IntStream.range(0, rows).filter(i -> i % inputs == input).boxed().toList();
    return spark
        .parallelize(numbers, maps)
        .mapToPair(i -> new Tuple2<>(key(i), payload(i, bytesOf(i))));
  }

  private JavaPairRDD<Long, byte[]> together(JavaSparkContext spark, HashPartitioner partitioner) {
    JavaRDD<Tuple2<Long, byte[]>> all = null;
    for (int input = 0; input < INPUTS; input++) {
      JavaRDD<Tuple2<Long, byte[]>> one =
          pairs(spark, input, INPUTS).partitionBy(partitioner).map(row -> row);
      all = all == null ? one : all.zipPartitions(one, Shape::inTurn);
    }
    return JavaPairRDD.fromJavaRDD(Objects.requireNonNull(all));
  }

  private static <T> Iterator<T> inTurn(Iterator<T> left, Iterator<T> right) {
    return new Iterator<>() {
      private boolean isRightsTurn;

      @Override
      public boolean hasNext() {
        return left.hasNext() || right.hasNext();
      }

      @Override
      public T next() {
        isRightsTurn = !isRightsTurn && right.hasNext();
        return isRightsTurn || !left.hasNext() ? right.next() : left.next();
      }
    };
  }

  private int bytesOf(int row) {
    boolean isLarge = way == Way.SORT_UNEVEN && row % LARGE_ROW_EVERY == 0;
    return isLarge ? LARGE_ROW_BYTES : payloadBytes;
  }

  private static Iterator<Digest> digest(
      int index,
      int partitions,
      boolean isAnywhere,
      boolean sorted,
      Iterator<Tuple2<Long, byte[]>> rows) {
    Digest digest = Digest.NONE;
    long before = Long.MIN_VALUE;
    HashPartitioner partitioner = new HashPartitioner(partitions);
    while (rows.hasNext()) {
      Tuple2<Long, byte[]> row = rows.next();
      boolean inPlace = isAnywhere
          || (partitioner.getPartition(row._1()) == index && (!sorted || row._1() >= before));
      digest = digest.plusRow(row._1(), row._2(), inPlace);
      before = row._1();
    }
    return List.of(digest).iterator();
  }

  /** Returns what {@link #run} must return, computed without Spark. */
  Digest expected() {
    List<byte[]> combined = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      combined.add(new byte[0]);
    }
    Digest digest = Digest.NONE;
    for (int i = 0; i < rows; i++) {
      byte[] payload = payload(i, bytesOf(i));
      if (way == Way.COMBINE) {
        int key = Math.toIntExact(key(i));
        combined.set(key, xor(combined.get(key), payload));
      } else {
        digest = digest.plusRow(key(i), payload, true);
      }
    }
    for (int key = 0; way == Way.COMBINE && key < KEYS; key++) {
      digest = digest.plusRow(key, combined.get(key), true);
    }
    return digest;
  }

  private static long key(int row) {
    return Long.remainderUnsigned(Digest.mix(row), KEYS);
  }

  private static byte[] payload(int row, int bytes) {
    byte[] payload = new byte[bytes + row % 7];
    new Random(row).nextBytes(payload);
    return payload;
  }

  private static byte[] xor(byte[] left, byte[] right) {
    byte[] longer = (left.length >= right.length ? left : right).clone();
    byte[] shorter = left.length >= right.length ? right : left;
    for (int i = 0; i < shorter.length; i++) {
      longer[i] ^= shorter[i];
    }
    return longer;
  }
}
