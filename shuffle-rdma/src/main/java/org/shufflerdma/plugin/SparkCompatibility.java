/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;

/** Which settings of Spark itself leave the shuffle to TCP. */
final class SparkCompatibility {
  private SparkCompatibility() {}

  /** Null if nothing is against RDMA. */
  static @Nullable String reasonAgainstRdma(SparkConf conf, RdmaSettings settings) {
    if (!settings.enabled()) {
      return "spark.shuffle.rdma.enabled=false";
    }
    if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
      return "spark.shuffle.useOldFetchProtocol=true lets a second attempt reuse the files of the"
          + " first; remove it to use RDMA";
    }
    boolean networkEncrypted = conf.getBoolean("spark.network.crypto.enabled", false)
        || conf.getBoolean("spark.ssl.rpc.enabled", false)
        || conf.getBoolean("spark.authenticate.enableSaslEncryption", false);
    boolean filesEncrypted = conf.getBoolean("spark.io.encryption.enabled", false);
    if (networkEncrypted && !filesEncrypted && !settings.allowUnencrypted()) {
      return "network traffic is encrypted, but RDMA READs of unencrypted shuffle files would not"
          + " be; set spark.io.encryption.enabled=true, or spark.shuffle.rdma.allowUnencrypted=true";
    }
    return null;
  }
}
