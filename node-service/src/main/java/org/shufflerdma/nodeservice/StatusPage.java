/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.Supplier;
import org.shufflerdma.concurrent.Workers;

/**
 * The pages {@code /metrics}, in Prometheus' text format, and {@code /health}, which is {@code ok} with status
 * 200 as long as all threads live on which all applications depend, and no application has lost its device.
 * Closed by its owner.
 */
final class StatusPage implements AutoCloseable {
  private static final int THREADS = 8;

  /** Else a client that sends half a request would keep a thread for ever. */
  private static final String TIMEOUT_S = "5";

  private static final String PREFIX = "shuffle_rdma_node_service_";

  private final HttpServer server;
  private final ThreadPoolExecutor workers;

  private StatusPage(HttpServer server, ThreadPoolExecutor workers) {
    this.server = server;
    this.workers = workers;
  }

  static StatusPage open(int port, ServiceStatus status, Supplier<String> trouble)
      throws IOException {
    System.setProperty("sun.net.httpserver.maxReqTime", TIMEOUT_S);
    System.setProperty("sun.net.httpserver.maxRspTime", TIMEOUT_S);
    HttpServer server;
    try {
      server = HttpServer.create(new InetSocketAddress(port), 0);
    } catch (IOException e) {
      throw new IOException(
          "port " + port + " (service.statusPort) cannot be listened at: " + e.getMessage(), e);
    }
    ThreadPoolExecutor workers = Workers.pool("status", THREADS);
    server.setExecutor(workers);
    server.createContext("/metrics", exchange -> answer(exchange, 200, metrics(status)));
    server.createContext("/health", exchange -> {
      String what = trouble.get();
      answer(exchange, what.isEmpty() ? 200 : 503, what.isEmpty() ? "ok\n" : what + "\n");
    });
    server.start();
    return new StatusPage(server, workers);
  }

  private static void answer(HttpExchange exchange, int code, String text) throws IOException {
    try (exchange) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
      exchange.sendResponseHeaders(code, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  static String metrics(ServiceStatus status) {
    StringBuilder out = new StringBuilder();
    status
        .values()
        .forEach((metric, value) -> out.append("# HELP ")
            .append(PREFIX)
            .append(metric.publicName())
            .append(' ')
            .append(metric.meaning())
            .append("\n# TYPE ")
            .append(PREFIX)
            .append(metric.publicName())
            .append(metric.isTotal() ? " counter\n" : " gauge\n")
            .append(PREFIX)
            .append(metric.publicName())
            .append(' ')
            .append(value)
            .append('\n'));
    return out.toString();
  }

  @Override
  public void close() {
    server.stop(0);
    workers.shutdownNow();
  }
}
