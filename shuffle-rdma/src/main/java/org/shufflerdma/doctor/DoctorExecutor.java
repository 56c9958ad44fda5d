/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.IOException;
import java.io.Serializable;
import java.net.InetAddress;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.util.RpcUtils;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.hardware.HostExaminer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * An executor under examination. One thread asks the driver what to do until that ends the run, or does not answer any more; another
 * does it, so that the driver tells an executor that works from one that is gone. The {@link HostExaminer} is the second
 * thread's. Spark makes the plugin before the executor runs tasks, and shuts it down with the executor.
 */
final class DoctorExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  private static final int BETWEEN_TURNS_MS = 100;
  private static final int DRIVER_PATIENCE_MS = 60_000;
  private static final int CLOSE_S = 20;

  private final ExecutorService worker = Executors.newSingleThreadExecutor(task -> {
    Thread thread = new Thread(task, "shuffle-rdma-doctor-work");
    thread.setDaemon(true);
    return thread;
  });
  private @Nullable Thread talker;
  private @Nullable HostExaminer examiner; // the worker's

  // The talker's.
  private double clockAheadMs;
  private double clockErrorMs = Double.MAX_VALUE;

  @Override
  public void init(PluginContext context, Map<String, String> extraConf) {
    Thread thread = new Thread(() -> talk(context), "shuffle-rdma-doctor");
    thread.setDaemon(true);
    thread.start();
    talker = thread;
  }

  private void talk(PluginContext context) {
    SparkEnv env = SparkEnv.get();
    try {
      RpcEndpointRef driver = null;
      Deadline patience = Deadline.afterMs(DRIVER_PATIENCE_MS);
      int begun = 0;
      boolean hasFailed = false;
      CompletableFuture<Wire.@Nullable Done> work = CompletableFuture.completedFuture(null);
      while (!patience.expired()) {
        try {
          if (driver == null) {
            driver = RpcUtils.makeDriverRef(Wire.ENDPOINT, env.conf(), env.rpcEnv());
          }
          Wire.Answer answer =
              ask(context.executorID(), hostOf(env), driver, work.isDone() ? work.join() : null);
          patience = Deadline.afterMs(DRIVER_PATIENCE_MS);
          if (answer.command() instanceof Command.End) {
            return;
          }
          if (answer.number() > begun && !(answer.command() instanceof Command.Wait)) {
            begun = answer.number();
            int number = begun;
            work = CompletableFuture.supplyAsync(
                () -> new Wire.Done(number, carryOut(answer.command(), context, env)), worker);
          }
        } catch (Exception e) { // the driver's endpoint comes later than its executors
          if (!hasFailed) {
            LOG.info("The doctor's driver does not answer yet", e);
          }
          hasFailed = true;
        }
        TimeUnit.MILLISECONDS.sleep(BETWEEN_TURNS_MS);
      }
      LOG.warn("The doctor's driver has not answered for {} s", DRIVER_PATIENCE_MS / 1000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      endWork();
    }
  }

  /** What Spark calls this host. PluginContext.hostname() knows it on the driver only. */
  private static String hostOf(SparkEnv env) {
    return env.blockManager().blockManagerId().host();
  }

  private Wire.Answer ask(
      String executorId, String host, RpcEndpointRef driver, Wire.@Nullable Done done)
      throws IOException {
    Wire.Turn turn = new Wire.Turn(executorId, host, done, clockAheadMs, clockErrorMs);
    ClassTag<byte[]> bytes = ClassTag$.MODULE$.apply(byte[].class);
    byte[] message = Wire.bytes(turn);
    long askedMs = System.currentTimeMillis();
    byte[] answered = driver.askSync(message, bytes);
    long answeredMs = System.currentTimeMillis();
    if (!(Wire.message(answered) instanceof Wire.Answer answer)) {
      throw new IOException("the doctor's driver sent what is no answer");
    }
    double errorMs = (answeredMs - askedMs) / 2.0;
    if (errorMs < clockErrorMs) {
      clockErrorMs = errorMs;
      clockAheadMs = (askedMs + answeredMs) / 2.0 - answer.driverMs();
    }
    return answer;
  }

  private Serializable carryOut(Command command, PluginContext context, SparkEnv env) {
    try {
      if (command instanceof Command.Examine examine) {
        HostExaminer opened = new HostExaminer(
            DoctorSettings.of(env.conf()),
            new LocalIdentity(examine.appId(), context.executorID(), examine.secret()));
        examiner = opened;
        return opened.examine(
            InetAddress.getByName(hostOf(env)),
            env.blockManager().diskBlockManager().localDirs()[0].toPath());
      }
      HostExaminer open = examiner;
      if (open == null) {
        throw new IllegalStateException("the host has not been examined");
      }
      return command instanceof Command.Measure measure
          ? open.measure(measure.other())
          : new TreeMap<>(open.counters());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "was interrupted";
    } catch (IOException | RuntimeException | LinkageError e) {
      LOG.warn("The doctor's {} failed", command.getClass().getSimpleName(), e);
      return "could not carry out " + command.getClass().getSimpleName() + ": " + e;
    }
  }

  /** The worker closes what it has opened, after what it still does. */
  private void endWork() {
    worker.execute(() -> {
      HostExaminer open = examiner;
      examiner = null;
      if (open != null) {
        open.close();
      }
    });
    worker.shutdown();
  }

  @Override
  public void shutdown() {
    Thread thread = talker;
    if (thread != null) {
      thread.interrupt();
      try {
        if (!worker.awaitTermination(CLOSE_S, TimeUnit.SECONDS)) {
          LOG.warn("The doctor's work has not ended within {} s", CLOSE_S);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
