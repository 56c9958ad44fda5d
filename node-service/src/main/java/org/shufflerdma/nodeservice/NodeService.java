/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.io.Reader;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.NodeServiceSettings;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.device.LocalAddress;
import org.shufflerdma.device.RdmaUnavailableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The daemon: it owns the device, the applications, and the servers at which executors register and readers
 * ask. Whoever opened it closes it.
 */
public final class NodeService implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NodeService.class);
  private static final String RDMA_PREFIX = "rdma.";
  private static final int LOOK_MS = 10_000;
  private static final int WRONG_USE = 2;

  private final Acquired acquired;

  private NodeService(Acquired acquired) {
    this.acquired = acquired;
  }

  /**
   * Opens the device and listens.
   *
   * @param conf keys {@code service.*} and {@code rdma.*}
   */
  public static NodeService open(Map<String, String> conf)
      throws IOException, RdmaUnavailableException {
    for (String key : conf.keySet()) {
      if (!key.startsWith(NodeServiceSettings.PREFIX) && !key.startsWith(RDMA_PREFIX)) {
        throw new InvalidSettingException(
            "unknown setting " + key + ". Correct or remove it; all begin with "
                + NodeServiceSettings.PREFIX + " or " + RDMA_PREFIX);
      }
    }
    NodeServiceSettings settings = NodeServiceSettings.from(conf);
    RdmaSettings rdma = RdmaSettings.from(conf, RDMA_PREFIX);
    InetAddress own =
        settings.host().isEmpty() ? LocalAddress.own() : InetAddress.getByName(settings.host());
    Acquired acquired = new Acquired();
    try {
      ControlLoop loop = ControlLoop.open("control");
      acquired.keep(loop::close);
      NodeDevice device = NodeDevice.open(rdma, own, loop, settings.maxRegisteredBytes());
      Applications applications =
          acquired.keep(Applications.open(device, GrantStore.open(settings.grants())));
      LookupServer lookups = acquired.keep(LookupServer.open(settings.port(), applications, loop));
      acquired.keep(RegistrationServer.open(settings.socket(), applications));
      ServiceStatus status = new ServiceStatus(applications, device, lookups);
      acquired.keep(StatusBean.show(status));
      if (settings.statusPort() != 0) {
        acquired.keep(StatusPage.open(settings.statusPort(), status, loop::isAlive));
      }
      ScheduledThreadPoolExecutor timer =
          new ScheduledThreadPoolExecutor(1, body -> Workers.thread("applications", body));
      acquired.keep(timer::shutdownNow);
      var unused = timer.scheduleWithFixedDelay(
          () -> endRemoved(applications), LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
      LOG.info(
          "The node service answers readers at port {} and executors at {}, over {}",
          lookups.port(),
          settings.socket(),
          device.bound().verbs().provider());
      return new NodeService(acquired);
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  private static void endRemoved(Applications applications) {
    try {
      applications.endRemoved();
    } catch (RuntimeException | Error e) { // one that escaped would end the timer
      LOG.error("The applications could not be looked through", e);
    }
  }

  /** Stops serving. The grants stay, and the next start knows them. */
  @Override
  public void close() {
    acquired.close();
  }

  /** Runs until the process is told to end. */
  public static void main(String[] arguments) throws InterruptedException {
    if (arguments.length != 1) {
      System.err.println("usage: NodeService FILE, whose lines are KEY=VALUE");
      System.exit(WRONG_USE);
    }
    try {
      NodeService service = open(read(Path.of(arguments[0])));
      CountDownLatch ended = new CountDownLatch(1);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> {
        service.close();
        ended.countDown();
      }));
      ended.await();
    } catch (IOException | RdmaUnavailableException | InvalidSettingException e) {
      LOG.error("The node service cannot start: {}", e.getMessage());
      System.exit(1);
    }
  }

  private static Map<String, String> read(Path file) throws IOException {
    Properties properties = new Properties();
    try (Reader in = Files.newBufferedReader(file)) {
      properties.load(in);
    }
    Map<String, String> conf = new HashMap<>();
    properties.stringPropertyNames().forEach(key -> conf.put(key, properties.getProperty(key)));
    return conf;
  }
}
