/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.List;
import java.util.Map;

/**
 * What Spark says of a stage when it submits it.
 *
 * @param rddId its last RDD, of which it makes map outputs if another stage reads them
 * @param inputs the RDDs in it that read a shuffle
 * @param properties those of the session that bear on shuffles ({@link SparkProperties#isOfSession})
 */
record StageDescription(
    StageKey key, String name, long rddId, List<Input> inputs, Map<String, String> properties) {
  /**
   * An RDD that reads the map outputs of another stage.
   *
   * @param mapRddId the last RDD of that stage
   * @param rdd the name of its class, unless the user has named it
   * @param scope the method by which the user has made it; empty if the log does not say it
   */
  record Input(long mapRddId, String rdd, String scope, long partitions) {}
}
