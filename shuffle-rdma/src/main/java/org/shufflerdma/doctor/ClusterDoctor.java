/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.hardware.ClusterReport;

/**
 * The program behind {@code spark-submit --class org.apache.spark.shuffle.rdma.Doctor}: examines the hosts of an application's executors and the
 * ways between them, and says whether RDMA would serve. Exit status 0: it would everywhere; 1: a fault was found; 2: the
 * caller can put something right.
 */
public final class ClusterDoctor {
  private static final int REFUSED = 2;
  private static final int ENDING_MS = 3000;
  private static final String PLUGINS = "spark.plugins";

  private ClusterDoctor() {}

  /** Runs the program and returns its exit status. */
  public static int run(String[] args, PrintStream out, PrintStream err) {
    try {
      if (List.of(args).contains("--help") || List.of(args).contains("-h")) {
        out.print(usage());
        return 0;
      }
      DoctorOptions options = DoctorOptions.parse(args);
      SparkConf conf = conf();
      RdmaSettings settings = DoctorSettings.of(conf);
      ClusterReport report = examine(conf, options, settings, err);
      out.print(report.text());
      Files.writeString(options.json(), report.json());
      err.println("doctor: the same for programs is " + options.json());
      return report.diagnosis().faults().isEmpty() ? 0 : 1;
    } catch (IllegalArgumentException e) { // of an option, or of a setting
      err.println("doctor: " + e.getMessage());
      return REFUSED;
    } catch (IOException e) {
      err.println("doctor: " + e.getMessage());
      return 1;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      err.println("doctor: interrupted");
      return 1;
    }
  }

  private static String usage() throws IOException {
    try (InputStream in = ClusterDoctor.class.getResourceAsStream("usage.txt")) {
      return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static SparkConf conf() {
    SparkConf conf = new SparkConf();
    String master = conf.get("spark.master", "");
    if (master.isEmpty() || master.matches("local(\\[.*)?")) {
      throw new IllegalArgumentException(
          "spark.master=" + master
              + ": the doctor examines executors on other hosts; run it with spark-submit --master, on a cluster");
    }
    String plugins = conf.get(PLUGINS, "");
    return conf.set(
            PLUGINS,
            plugins.isEmpty()
                ? DoctorPlugin.class.getName()
                : plugins + "," + DoctorPlugin.class.getName())
        .set("spark.app.name", "shuffle-rdma doctor")
        .set("spark.dynamicAllocation.enabled", "false");
  }

  private static ClusterReport examine(
      SparkConf conf, DoctorOptions options, RdmaSettings settings, PrintStream err)
      throws InterruptedException {
    Desk desk = new Desk();
    SparkContext context = new SparkContext(conf);
    try {
      context.addSparkListener(new SparkListener() {
        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
          desk.lost(removed.executorId(), "was lost: " + removed.reason());
        }
      });
      SparkEnv env = SparkEnv.get();
      env.rpcEnv().setupEndpoint(Wire.ENDPOINT, new DeskEndpoint(env.rpcEnv(), desk));
      return new Rounds(
              desk,
              options,
              settings,
              context.applicationId(),
              Rounds.expected(conf, options),
              progress -> err.println("doctor: " + progress))
          .run();
    } finally {
      desk.end();
      Deadline patience = Deadline.afterMs(ENDING_MS);
      while (!desk.hasEnded() && !patience.expired()) {
        TimeUnit.MILLISECONDS.sleep(20);
      }
      context.stop();
    }
  }
}
