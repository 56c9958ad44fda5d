/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.management.Attribute;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.device.FreePorts;
import org.shufflerdma.verbs.FaultControl;
import org.shufflerdma.verbs.TestDevice;

/** A node service in a process of its own, which can be killed and started again. */
public final class ServiceProcess {
  private static final int START_MS = 60_000;

  public final int port = FreePorts.two();
  private final int statusPort = port + 1;
  final Path socket;
  private final Path conf;
  private final Path log;
  private final Class<?> main;
  private final Runner runner;
  private final HttpClient http = HttpClient.newHttpClient();
  private Process process;

  /** Where the software device of the service takes commands. */
  public final FaultControl faults;

  /**
   * Who runs the service.
   *
   * @param wrapper a program that changes the new process, such as setpriv; empty for none
   * @param classPath which the process can read
   */
  public record Runner(List<String> wrapper, String classPath) {
    static final Runner ITSELF = new Runner(List.of(), System.getProperty("java.class.path"));
  }

  /** @param more settings, as lines */
  public ServiceProcess(Path folder, long maxRegisteredBytes, String... more) throws Exception {
    this(folder, maxRegisteredBytes, NodeService.class, Runner.ITSELF, more);
  }

  /** @param folder is the runner's */
  public ServiceProcess(Path folder, long maxRegisteredBytes, Runner runner, String... more)
      throws Exception {
    this(folder, maxRegisteredBytes, NodeService.class, runner, more);
  }

  /** @param main takes the settings' file as its argument */
  ServiceProcess(Path folder, long maxRegisteredBytes, Class<?> main, String... more)
      throws Exception {
    this(folder, maxRegisteredBytes, main, Runner.ITSELF, more);
  }

  private ServiceProcess(
      Path folder, long maxRegisteredBytes, Class<?> main, Runner runner, String... more)
      throws Exception {
    this.main = main;
    this.runner = runner;
    socket = folder.resolve("node.sock");
    faults = new FaultControl(folder.resolve("faults"));
    conf = folder.resolve("node-service.conf");
    log = folder.resolve("node-service.log");
    List<String> lines = new ArrayList<>(List.of(more));
    lines.addAll(List.of(
        "service.port=" + port,
        "service.statusPort=" + statusPort,
        "service.socket=" + socket,
        "service.grants=" + folder.resolve("grants"),
        "service.host=" + TestDevice.address().getHostAddress(),
        "service.maxRegisteredBytes=" + maxRegisteredBytes,
        "rdma.device=" + (TestDevice.isSoft() ? "soft" : TestDevice.name())));
    Files.write(conf, lines);
    start();
  }

  public void start() throws Exception {
    List<String> command = new ArrayList<>(runner.wrapper());
    command.addAll(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-cp",
        runner.classPath(),
        main.getName(),
        conf.toString()));
    ProcessBuilder builder = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    builder.environment().putAll(faults.environment());
    process = builder.start();
    Await.until("the node service has started", START_MS, () -> answers() || !process.isAlive());
    if (!process.isAlive()) {
      throw new IllegalStateException("the node service has not started, with status "
          + process.exitValue() + ": " + Files.readString(log));
    }
  }

  private boolean answers() throws InterruptedException {
    try {
      return page("/health").equals("ok\n");
    } catch (IOException e) {
      return false;
    }
  }

  public String page(String path) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + statusPort + path))
                .build(),
            HttpResponse.BodyHandlers.ofString())
        .body();
  }

  /** A client of the status page that says no more than the beginning of a request. */
  Socket halfRequest() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), statusPort);
    socket.getOutputStream().write("GET /hea".getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  /** The value of one of its metrics. */
  long metric(ServiceMetric metric) throws IOException, InterruptedException {
    return metric(metric.publicName());
  }

  /** The value of one of its metrics, by the name without what all names begin with. */
  public long metric(String metric) throws IOException, InterruptedException {
    String name = "shuffle_rdma_node_service_" + metric + " ";
    return page("/metrics")
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.substring(name.length())))
        .findFirst()
        .orElseThrow();
  }

  /** The values of its MBean's attributes, by the name. */
  @SuppressWarnings("BanJNDI") // the process is this test's own
  Map<String, Object> attributes() throws Exception {
    VirtualMachine machine = VirtualMachine.attach(String.valueOf(process.pid()));
    try (JMXConnector connector =
        JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()))) {
      MBeanServerConnection beans = connector.getMBeanServerConnection();
      ObjectName name = new ObjectName(StatusBean.NAME);
      String[] attributes = Arrays.stream(beans.getMBeanInfo(name).getAttributes())
          .map(MBeanAttributeInfo::getName)
          .toArray(String[]::new);
      return beans.getAttributes(name, attributes).asList().stream()
          .collect(Collectors.toMap(Attribute::getName, Attribute::getValue));
    } finally {
      machine.detach();
    }
  }

  /** Writes a line to its standard input. */
  public void say(String line) throws IOException {
    process.outputWriter(StandardCharsets.UTF_8).append(line).append('\n').flush();
  }

  /** Waits for it to end by itself. */
  public int exitStatus() throws InterruptedException {
    if (!process.waitFor(START_MS, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("the node service does not end");
    }
    return process.exitValue();
  }

  public long pid() {
    return process.pid();
  }

  /** The file of its settings, to start another one with the same. */
  public Path settings() {
    return conf;
  }

  /** As {@code kill -9} does. */
  public void kill() throws InterruptedException, IOException {
    process.destroyForcibly().waitFor();
    printLog();
  }

  private void printLog() throws IOException {
    if (Files.exists(log)) {
      System.out.print(Files.readString(log));
      Files.delete(log);
    }
  }

  public void close() throws InterruptedException, IOException {
    process.destroy();
    if (!process.waitFor(20, TimeUnit.SECONDS)) {
      kill();
      throw new IllegalStateException("the node service does not stop");
    }
    printLog();
  }
}
