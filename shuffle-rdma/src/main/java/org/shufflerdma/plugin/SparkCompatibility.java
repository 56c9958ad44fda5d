/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.List;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;

/** Finds the settings of Spark itself that rule out RDMA. */
final class SparkCompatibility {
  /** Settings that encrypt Spark's network traffic; {@code spark.ssl.enabled} alone does not. */
  private static final List<String> NETWORK_ENCRYPTION = List.of(
      "spark.network.crypto.enabled",
      "spark.ssl.rpc.enabled",
      "spark.authenticate.enableSaslEncryption");

  private SparkCompatibility() {}

  /** Returns the reason for which RDMA cannot be used, or null if there is none. */
  static @Nullable String reasonAgainstRdma(SparkConf conf, RdmaSettings settings) {
    if (!settings.enabled()) {
      return "spark.shuffle.rdma.enabled=false";
    }
    if (settings.required() && settings.device().equals("none")) {
      return "spark.shuffle.rdma.device=none";
    }
    if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
      return "spark.shuffle.useOldFetchProtocol=true lets a second attempt reuse the files of the"
          + " first; remove it to use RDMA";
    }
    boolean filesEncrypted = conf.getBoolean("spark.io.encryption.enabled", false);
    if (!filesEncrypted && !settings.allowUnencrypted()) {
      for (String key : NETWORK_ENCRYPTION) {
        if (conf.getBoolean(key, false)) {
          return key
              + "=true encrypts what Spark sends, and RDMA would carry shuffle files as they are, in"
              + " the clear; set spark.io.encryption.enabled=true to encrypt the files, or"
              + " spark.shuffle.rdma.allowUnencrypted=true if the RDMA network is to be trusted";
        }
      }
    }
    return null;
  }
}
