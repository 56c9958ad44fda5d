/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.shufflerdma.writer.WriterRule;

/**
 * Who writes the map outputs of a stage, as far as a log tells.
 *
 * @param partitions of the shuffle, or the most that it can have
 * @param exact whether the log tells the number of partitions; adaptive execution hides it
 * @param plugins whether the plugin's writer takes the shuffle
 * @param mostSavedMicros what it can save of the tasks' time
 */
record WriterFinding(
    Writer sparks, long partitions, boolean exact, Answer plugins, double mostSavedMicros) {
  /** Spark's own writers. */
  enum Writer {
    BYPASS("files"),
    SERIALIZED("serialized"),
    SORT("sort"),
    UNKNOWN("unknown");

    final String label;

    Writer(String label) {
      this.label = label;
    }
  }

  enum Answer {
    YES,
    NO,
    UNKNOWN
  }

  private static final Set<String> COMBINING = Set.of(
      "reduceByKey",
      "combineByKey",
      "combineByKeyWithClassTag",
      "aggregateByKey",
      "foldByKey",
      "countByKey",
      "countByValue",
      "distinct",
      "treeAggregate",
      "treeReduce",
      "countApproxDistinctByKey");
  private static final Set<String> NOT_COMBINING = Set.of(
      "groupByKey",
      "groupBy",
      "partitionBy",
      "repartition",
      "coalesce",
      "sortByKey",
      "sortBy",
      "repartitionAndSortWithinPartitions",
      "subtract",
      "subtractByKey",
      "join",
      "leftOuterJoin",
      "rightOuterJoin",
      "fullOuterJoin",
      "cogroup",
      "groupWith",
      "intersection");
  private static final Set<String> NEVER_COMBINING_RDDS = Set.of("CoGroupedRDD", "SubtractedRDD");
  private static final String SQL_RDD = "ShuffledRowRDD";
  private static final String LOCAL_FILES =
      "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
  private static final long MOST_SERIALIZED_PARTITIONS = 1 << 24;

  // What writers cost more than the plugin's, so that no row of docs/benchmarks.md (Map outputs) is
  // above it.
  private static final double FILE_MICROS = 130;
  private static final double FILES_MICROS_PER_MIB = 1400;
  private static final double SERIALIZED_MICROS_PER_PARTITION = 17;
  private static final double SERIALIZED_MICROS_PER_RECORD = 0.3;
  private static final double SERIALIZED_MICROS_PER_MIB = 500;

  /** The most that rows are assumed to shrink by compression. */
  static final int COMPRESSION = 3;

  /** A shuffle that a stage writes, as a stage that reads it tells. */
  record Reader(StageDescription.Input input, Map<String, String> session) {}

  static WriterFinding of(StageTotals stage, List<Reader> readers, SparkProperties properties) {
    long mostFiles = properties.number("spark.shuffle.sort.bypassMergeThreshold", 200);
    if (readers.isEmpty()) {
      return found(
          stage,
          Writer.UNKNOWN,
          sqlPartitions(Map.of(), properties),
          false,
          Answer.UNKNOWN,
          properties);
    }
    Reader reader = readers.get(0);
    StageDescription.Input input = reader.input();
    boolean isSql = input.rdd().equals(SQL_RDD);
    boolean exact = !isSql || !isAdaptive(reader.session(), properties);
    long partitions = exact
        ? input.partitions()
        : Math.max(input.partitions(), sqlPartitions(reader.session(), properties));
    Answer combines =
        isSql || NEVER_COMBINING_RDDS.contains(input.rdd()) || NOT_COMBINING.contains(input.scope())
            ? Answer.NO
            : COMBINING.contains(input.scope()) ? Answer.YES : Answer.UNKNOWN;
    Answer relocatable = isSql || properties.get("spark.serializer", "").endsWith(".KryoSerializer")
        ? Answer.YES
        : Answer.UNKNOWN; // Spark takes Kryo for pairs of primitives and strings, whatever is set.
    return found(
        stage,
        sparks(combines, relocatable, partitions, mostFiles),
        partitions,
        exact,
        plugins(combines, relocatable, partitions, mostFiles, properties),
        properties);
  }

  private static boolean isAdaptive(Map<String, String> session, SparkProperties properties) {
    String set = properties.get(SparkProperties.ADAPTIVE, "true");
    return session.getOrDefault(SparkProperties.ADAPTIVE, set).equalsIgnoreCase("true");
  }

  private static long sqlPartitions(Map<String, String> session, SparkProperties properties) {
    Map<String, String> set = new HashMap<>(properties.values());
    set.putAll(session);
    SparkProperties both = new SparkProperties(set);
    return both.number(
        SparkProperties.INITIAL_PARTITIONS, both.number(SparkProperties.SQL_PARTITIONS, 200));
  }

  private static Writer sparks(
      Answer combines, Answer relocatable, long partitions, long mostFiles) {
    if (combines == Answer.YES) {
      return Writer.SORT;
    } else if (combines == Answer.UNKNOWN) {
      return Writer.UNKNOWN;
    } else if (partitions <= mostFiles) {
      return Writer.BYPASS;
    } else if (partitions > MOST_SERIALIZED_PARTITIONS) {
      return Writer.SORT;
    }
    return relocatable == Answer.YES ? Writer.SERIALIZED : Writer.UNKNOWN;
  }

  private static Answer plugins(
      Answer combines,
      Answer relocatable,
      long partitions,
      long mostFiles,
      SparkProperties properties) {
    if (properties.get("spark.shuffle.rdma.writer", "auto").equalsIgnoreCase("spark")
        || !properties.get("spark.shuffle.sort.io.plugin.class", LOCAL_FILES).equals(LOCAL_FILES)) {
      return Answer.NO;
    }
    boolean ifNot = WriterRule.buffers(
        combines == Answer.YES, relocatable == Answer.YES, partitions, mostFiles);
    boolean ifSo =
        WriterRule.buffers(combines != Answer.NO, relocatable != Answer.NO, partitions, mostFiles);
    return ifNot && ifSo ? Answer.YES : combines == Answer.YES ? Answer.NO : Answer.UNKNOWN;
  }

  private static WriterFinding found(
      StageTotals stage,
      Writer sparks,
      long partitions,
      boolean exact,
      Answer plugins,
      SparkProperties properties) {
    double micros = plugins == Answer.NO ? 0 : savedMicros(stage, sparks, partitions, properties);
    return new WriterFinding(sparks, partitions, exact, plugins, micros);
  }

  private static double savedMicros(
      StageTotals stage, Writer sparks, long partitions, SparkProperties properties) {
    double mib = stage.of(TaskMetric.BYTES_WRITTEN)
        / 1048576.0
        * (properties.isTrue("spark.shuffle.compress", true) ? COMPRESSION : 1);
    // What has no record makes no file.
    double records = stage.of(TaskMetric.RECORDS_WRITTEN);
    double pieces = Math.min(records, (double) stage.mapOutputs() * partitions);
    double files = Math.max(
        pieces * FILE_MICROS + mib * FILES_MICROS_PER_MIB, stage.of(TaskMetric.WRITE_NS) / 1000.0);
    double serialized = pieces * SERIALIZED_MICROS_PER_PARTITION
        + mib * SERIALIZED_MICROS_PER_MIB
        + records * SERIALIZED_MICROS_PER_RECORD;
    return switch (sparks) {
      case BYPASS -> files;
      case SERIALIZED -> serialized;
      default ->
        partitions <= properties.number("spark.shuffle.sort.bypassMergeThreshold", 200)
            ? Math.max(files, serialized)
            : serialized;
    };
  }
}
