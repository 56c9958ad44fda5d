/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.beneath.Endpoints;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The driver's part under another shuffle manager. Spark makes it, and shuts it down, with its context. */
public final class BeneathDriver implements DriverPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private final Endpoints endpoints = new Endpoints();
  private @Nullable ShufflePlugin plugin;

  @Override
  public Map<String, String> init(SparkContext spark, PluginContext context) {
    if (ShufflePlugin.namesManager(spark.conf())) {
      LOG.info(
          "spark.plugins names the RdmaPlugin, which has nothing to do beside the RdmaShuffleManager");
      return Map.of();
    }
    ShufflePlugin created = ShufflePlugin.create(spark.conf(), true, false);
    created.shuffleRegistered(spark);
    plugin = created;
    return Map.of();
  }

  @Override
  public Object receive(Object message) {
    return endpoints.receive(message);
  }

  @Override
  public void shutdown() {
    if (plugin != null) {
      plugin.close();
    }
  }
}
