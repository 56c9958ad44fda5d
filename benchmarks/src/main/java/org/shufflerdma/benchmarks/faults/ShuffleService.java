/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * Spark's external shuffle service, in this JVM, since the workers of a local-cluster start none
 * (LocalSparkCluster). With it, map outputs outlive their executors.
 */
final class ShuffleService implements AutoCloseable {
  private final TransportContext context;
  private final TransportServer server;

  private ShuffleService(TransportContext context, TransportServer server) {
    this.context = context;
    this.server = server;
  }

  static ShuffleService open() throws IOException {
    TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
    TransportContext context = new TransportContext(conf, new ExternalBlockHandler(conf, null));
    return new ShuffleService(context, context.createServer());
  }

  Map<String, String> settings() {
    return Map.of(
        "spark.shuffle.service.enabled",
        "true",
        "spark.shuffle.service.port",
        Integer.toString(server.getPort()));
  }

  @Override
  public void close() {
    server.close();
    context.close();
  }
}
