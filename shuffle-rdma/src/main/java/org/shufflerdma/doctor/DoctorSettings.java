/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.shufflerdma.config.RdmaSettings;
import scala.Tuple2;

/** Reads the plugin's settings as an application with this configuration would. */
final class DoctorSettings {
  private static final String PREFIX = "spark.shuffle.rdma.";

  private DoctorSettings() {}

  static RdmaSettings of(SparkConf conf) {
    Map<String, String> settings = new HashMap<>();
    for (Tuple2<String, String> entry : conf.getAllWithPrefix(PREFIX)) {
      settings.put(PREFIX + entry._1(), entry._2());
    }
    return RdmaSettings.from(settings, PREFIX, unknown -> {});
  }
}
