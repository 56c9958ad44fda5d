/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/** The node service of this host, as a child process that may be killed and started again. */
final class NodeServiceProcess implements AutoCloseable {
  private static final int START_MS = 60_000;
  private static final int STOP_MS = 20_000;
  private static final int POLL_MS = 50;
  private static final int ANSWER_S = 5;
  private static final int FIRST_PORT = 10_000;
  private static final int END_OF_PORTS = 20_000;

  private final Path jar;
  private final Path controls;
  private final Path folder;
  private final int port = freePort();
  private final int statusPort = freePort();
  private final HttpClient client = HttpClient.newHttpClient();
  private @Nullable Process process;

  /**
   * @param controls folder for its socket and that of its device
   * @param directory for its log, its settings and its grants
   */
  NodeServiceProcess(Path jar, Path controls, Path directory) throws IOException {
    this.jar = jar;
    this.controls = controls;
    this.folder = Files.createTempDirectory(directory, "node-service");
  }

  /** Below the ports that the system gives to connections, one of which could take it while the service is down. */
  private static int freePort() {
    while (true) {
      try (ServerSocket socket =
          new ServerSocket(ThreadLocalRandom.current().nextInt(FIRST_PORT, END_OF_PORTS))) {
        return socket.getLocalPort();
      } catch (IOException e) {
        // Another process has it.
      }
    }
  }

  private Path socket() {
    return controls.resolve("node");
  }

  /** Returns the settings of applications that use it. */
  Map<String, String> settings() {
    return Map.of(
        "spark.shuffle.rdma.nodeServicePort",
        Integer.toString(port),
        "spark.shuffle.rdma.nodeServiceSocket",
        socket().toString());
  }

  /** Starts it unless it runs, and returns when it answers. */
  void start() throws IOException, InterruptedException {
    if (isAlive()) {
      return;
    }
    Path conf = folder.resolve("node-service.conf");
    Files.write(
        conf,
        List.of(
            "service.port=" + port,
            "service.statusPort=" + statusPort,
            "service.socket=" + socket(),
            "service.grants=" + folder.resolve("grants"),
            "service.host=127.0.0.1",
            "service.maxRegisteredBytes=32m",
            "rdma.device=soft"));
    ProcessBuilder builder = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx128m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-jar",
            jar.toString(),
            conf.toString())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()));
    builder.environment().put("SOFTVERBS_FAULT_CONTROL", controls + "/%p");
    process = builder.start();
    Deadline deadline = Deadline.afterMs(START_MS);
    while (!isWell()) {
      if (!isAlive() || deadline.expired()) {
        throw new IOException("the node service has not started: see " + folder.resolve("log"));
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
    }
  }

  boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Returns the process and its device. To be called after {@link #start}. */
  DeviceProcess device() {
    ProcessHandle handle = Objects.requireNonNull(process).toHandle();
    return new DeviceProcess(
        "the node service", handle, controls.resolve(Long.toString(handle.pid())));
  }

  private boolean isWell() throws InterruptedException {
    try {
      return page("health").equals("ok\n");
    } catch (IOException e) {
      return false;
    }
  }

  /** Returns the value of one of its metrics. */
  long metric(String name) throws IOException, InterruptedException {
    Matcher line = Pattern.compile(
            "^shuffle_rdma_node_service_" + name + " (\\d+)$", Pattern.MULTILINE)
        .matcher(page("metrics"));
    if (!line.find()) {
      throw new IOException("the node service has no metric " + name);
    }
    return Long.parseLong(line.group(1));
  }

  private String page(String name) throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + statusPort + "/" + name);
    HttpRequest request =
        HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(ANSWER_S)).build();
    return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  Path log() {
    return folder.resolve("log");
  }

  /** Ends it, by force if it does not end by itself. */
  @Override
  public void close() {
    Process last = process;
    if (last == null) {
      return;
    }
    last.destroy();
    try {
      if (!last.waitFor(STOP_MS, TimeUnit.MILLISECONDS)) {
        last.destroyForcibly();
      }
    } catch (InterruptedException e) {
      last.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
