/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

/**
 * The rule by which the plugin's writer takes a shuffle. It sees nothing of Spark, so that estimates apply it, too. Any thread
 * may call.
 */
public final class WriterRule {
  private WriterRule() {}

  /**
   * Whether the plugin's writer takes the shuffle. If serialized records may not change places, each partition needs a
   * stream of the serializer, so there may be no more partitions than Spark takes a file for each.
   *
   * @param combines whether map tasks combine records
   * @param relocatable whether the serializer allows serialized records to change places
   * @param mostStreams {@code spark.shuffle.sort.bypassMergeThreshold}
   */
  public static boolean buffers(
      boolean combines, boolean relocatable, long partitions, long mostStreams) {
    return !combines && (relocatable || partitions <= mostStreams);
  }
}
