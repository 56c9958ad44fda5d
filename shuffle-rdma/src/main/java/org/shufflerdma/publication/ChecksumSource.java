/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.File;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.mapoutput.PartitionChecksums;
import scala.Option;

/**
 * Decides where the checksums of a committed map output come from. Spark's own values are taken
 * only where they cover the bytes of the data file. They do not where the serialized (unsafe)
 * writer merged several spills by decoding and encoding them again: it had summed up the bytes of
 * the spills, not of the result. That merge happens with encryption, and with compression whose
 * streams cannot be concatenated.
 */
record ChecksumSource(
    ChecksumMode mode,
    Optional<ChecksumAlgorithm> sparkAlgorithm,
    String sparkAlgorithmName,
    boolean spillsAreReencoded) {
  static ChecksumSource of(SparkConf conf, ChecksumMode mode) {
    boolean written = (boolean) conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ENABLED());
    String name = conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ALGORITHM());
    boolean encrypted = (boolean) conf.get(package$.MODULE$.IO_ENCRYPTION_ENABLED());
    boolean compressed = (boolean) conf.get(package$.MODULE$.SHUFFLE_COMPRESS());
    boolean fastMerge = (boolean) conf.get(package$.MODULE$.SHUFFLE_UNSAFE_FAST_MERGE_ENABLE());
    boolean concatenates = fastMerge
        && CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
            CompressionCodec$.MODULE$.createCodec(conf));
    return new ChecksumSource(
        mode,
        written ? knownAlgorithm(name) : Optional.empty(),
        name,
        encrypted || (compressed && !concatenates));
  }

  private static Optional<ChecksumAlgorithm> knownAlgorithm(String name) {
    return switch (name.toUpperCase(Locale.ROOT)) {
      case "ADLER32" -> Optional.of(ChecksumAlgorithm.ADLER32);
      case "CRC32" -> Optional.of(ChecksumAlgorithm.CRC32);
      case "CRC32C" -> Optional.of(ChecksumAlgorithm.CRC32C);
      default -> Optional.empty();
    };
  }

  PartitionChecksums checksumsOf(
      CommittedOutputPublisher.Task task,
      IndexShuffleBlockResolver resolver,
      File dataFile,
      long[] partitionLengths)
      throws IOException {
    if (mode == ChecksumMode.OFF) {
      return PartitionChecksums.none();
    }
    if (mode == ChecksumMode.AUTO && sparkAlgorithm.isPresent() && sparkCovers(task)) {
      long[] known = task.knownChecksums().get();
      if (known.length == partitionLengths.length) {
        return PartitionChecksums.ofWords(known, sparkAlgorithm.get());
      }
      Option<String[]> thisExecutorsDirectories = Option.empty();
      File file = resolver.getChecksumFile(
          task.shuffleId(), task.mapId(), sparkAlgorithmName, thisExecutorsDirectories);
      if (file.exists()) {
        return PartitionChecksums.ofSparkFile(
            file.toPath(), sparkAlgorithm.get(), partitionLengths.length);
      }
    }
    return PartitionChecksums.compute(dataFile.toPath(), partitionLengths);
  }

  /** Counts every spill, because a task's metrics do not separate the writer's from other operators'. */
  private boolean sparkCovers(CommittedOutputPublisher.Task task) {
    return !(task.serializedShuffle() && spillsAreReencoded && hasSpilled(task.context()));
  }

  private static boolean hasSpilled(TaskContext context) {
    return context.taskMetrics().memoryBytesSpilled() > 0
        || context.taskMetrics().diskBytesSpilled() > 0;
  }
}
