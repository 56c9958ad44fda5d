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
import java.util.concurrent.CompletableFuture;
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
import org.shufflerdma.staging.StagingWorkers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The daemon: it owns the device, the applications, and the servers at which executors register and readers
 * ask. Whoever opened it closes it.
 */
public final class NodeService implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NodeService.class);
  private static final String RDMA_PREFIX = "rdma.";

  /** They wait for disks, so there are some for each user of the host, however few processors there are. */
  private static final int STAGING_THREADS = 16;

  private static final int LOOK_MS = 10_000;
  private static final int GIVE_WAY_MS = 250;

  /** What does not close in this time must not keep a service that has died from being started anew. */
  private static final int EXIT_MS = 10_000;

  private static final int WRONG_USE = 2;
  private static final int DIED = 3;

  private final Acquired acquired;

  /** What a thread has died of on which all applications depend. */
  private final CompletableFuture<Throwable> death;

  private NodeService(Acquired acquired, CompletableFuture<Throwable> death) {
    this.acquired = acquired;
    this.death = death;
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
      CompletableFuture<Throwable> death = new CompletableFuture<>();
      ControlLoop loop = ControlLoop.open("control", death::complete);
      acquired.keep(loop::close);
      StagingWorkers workers = acquired.keep(new StagingWorkers(STAGING_THREADS));
      SharedFolder shared = settings.yarnLocalDirs().isEmpty()
          ? null
          : acquired.keep(new SharedFolder(settings.sharedMemory()));
      if (shared != null) {
        shared.tryTake();
      }
      NodeDevice device = NodeDevice.open(rdma, own, loop, settings, workers, shared);
      Applications applications = acquired.keep(Applications.open(
          device, GrantStore.open(settings.grants()), new JobFolders(settings.yarnLocalDirs())));
      ReducerServer reducers = acquired.keep(new ReducerServer(applications, device.budget()));
      LookupServer lookups =
          acquired.keep(LookupServer.open(settings.port(), applications, reducers, loop));
      acquired.keep(RegistrationServer.open(settings.socket(), applications, death::complete));
      ServiceStatus status =
          new ServiceStatus(applications, device, lookups, reducers, death::isDone);
      acquired.keep(StatusBean.show(status));
      if (settings.statusPort() != 0) {
        acquired.keep(
            StatusPage.open(settings.statusPort(), status, () -> trouble(death, applications)));
      }
      ScheduledThreadPoolExecutor timer =
          new ScheduledThreadPoolExecutor(1, body -> Workers.thread("applications", body));
      acquired.keep(timer::shutdownNow);
      schedule(timer, LOOK_MS, () -> look(applications::lookThrough, death));
      schedule(timer, GIVE_WAY_MS, () -> look(applications::giveWay, death));
      if (shared != null) {
        schedule(timer, LOOK_MS, () -> look(shared::tryAgain, death));
      }
      schedule(timer, GIVE_WAY_MS, () -> look(reducers::giveWay, death));
      LOG.info(
          "The node service answers readers at port {} and executors at {}, over {}",
          lookups.port(),
          settings.socket(),
          device.bound().verbs().provider());
      return new NodeService(acquired, death);
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  private static void schedule(ScheduledThreadPoolExecutor timer, int everyMs, Runnable step) {
    var unused = timer.scheduleWithFixedDelay(step, everyMs, everyMs, TimeUnit.MILLISECONDS);
  }

  /** Empty if there is none. */
  private static String trouble(CompletableFuture<Throwable> death, Applications applications) {
    if (death.isDone()) {
      return "a thread has died on which all applications depend: " + death.join();
    }
    long failed = applications.all().stream().filter(Application::hasFailed).count();
    return failed == 0
        ? ""
        : "%d of %d applications have lost their device, and are opened anew"
            .formatted(failed, applications.all().size());
  }

  /** An error that escapes ends the timer, so that nobody looks any more. */
  private static void look(Runnable step, CompletableFuture<Throwable> death) {
    try {
      step.run();
    } catch (RuntimeException e) {
      LOG.error("The applications could not be looked through", e);
    } catch (Error e) {
      death.complete(e);
      throw e;
    }
  }

  /** Stops serving. The grants stay, and the next start knows them. */
  @Override
  public void close() {
    acquired.close();
  }

  /** Runs until the process is told to end, or a thread dies without which it can serve nobody. */
  public static void main(String[] arguments) {
    if (arguments.length != 1) {
      System.err.println("usage: NodeService FILE, whose lines are KEY=VALUE");
      System.exit(WRONG_USE);
    }
    try {
      NodeService service = open(read(Path.of(arguments[0])));
      Runtime.getRuntime().addShutdownHook(new Thread(service::close));
      LOG.error(
          "The node service ends, to be started anew: a thread died of {}",
          service.death.join().toString());
      ScheduledThreadPoolExecutor halt =
          new ScheduledThreadPoolExecutor(1, body -> Workers.thread("halt", body));
      var unused =
          halt.schedule(() -> Runtime.getRuntime().halt(DIED), EXIT_MS, TimeUnit.MILLISECONDS);
      System.exit(DIED);
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
