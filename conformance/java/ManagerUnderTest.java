/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.conformance;

import org.apache.spark.SparkConf;

/** Brings the shuffle manager to suites whose configuration does not read system properties. */
public final class ManagerUnderTest {
  private ManagerUnderTest() {}

  /** Sets what the command line sets as system properties; a suite's own disk setting stays. */
  public static void choose(SparkConf conf) {
    conf.set("spark.shuffle.manager", System.getProperty("spark.shuffle.manager"));
    String hostLocal = "spark.shuffle.readHostLocalDisk";
    conf.setIfMissing(hostLocal, System.getProperty(hostLocal));
  }
}
