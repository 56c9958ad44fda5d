/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO;
import org.shufflerdma.config.WriterMode;

/** Decides which shuffles the plugin's writer writes; Spark's write the others. Any thread may call. */
public final class WriterChoice {
  private final boolean leftToSpark;
  private final int mostStreams;

  public WriterChoice(SparkConf conf, WriterMode mode) {
    String localFiles = LocalDiskShuffleDataIO.class.getName();
    boolean otherFiles =
        !conf.get("spark.shuffle.sort.io.plugin.class", localFiles).equals(localFiles);
    leftToSpark = mode == WriterMode.SPARK || otherFiles;
    mostStreams = (int) conf.get(package$.MODULE$.SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD());
  }

  /** Whether {@link BufferedShuffleWriter} writes the map outputs of the shuffle. */
  public boolean buffers(ShuffleDependency<?, ?, ?> shuffle) {
    return !leftToSpark
        && RecordChecksums.areKnown(shuffle)
        && WriterRule.buffers(
            shuffle.mapSideCombine(),
            shuffle.serializer().supportsRelocationOfSerializedObjects(),
            shuffle.partitioner().numPartitions(),
            mostStreams);
  }
}
