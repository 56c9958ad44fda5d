/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.jspecify.annotations.Nullable;

/** Brings the doctor to the executors of its own application; {@link ClusterDoctor} adds it to {@code spark.plugins}. */
public final class DoctorPlugin implements SparkPlugin {
  /** The driver has none: the program itself decides. */
  @Override
  public @Nullable DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new DoctorExecutor();
  }
}
