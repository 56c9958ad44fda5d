/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shufflerdma.benchmarks.fetch.ProcessCpu;

/**
 * CPU time of a driver's executors so far, as Linux counts it (proc(5), {@code schedstat}). They run
 * on this machine.
 *
 * @param executors how many there are
 * @param seconds of all threads, those that have ended included, user and system time
 * @param threads seconds of each living thread, by {@code PID/TID}
 * @param groups the group of each thread
 */
record ExecutorCpu(
    int executors, double seconds, Map<String, Double> threads, Map<String, String> groups) {
  private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
  private static final String DRIVER_URL = "spark://CoarseGrainedScheduler@";

  /** Before there were any executors. */
  static final ExecutorCpu NONE = new ExecutorCpu(0, 0, Map.of(), Map.of());

  /** Beginnings of thread names, as far as Linux keeps them (15 bytes), and their groups. */
  private static final List<Map.Entry<String, String>> GROUPS = List.of(
      Map.entry("shuffle-client", "transport"),
      Map.entry("shuffle-server", "transport"),
      Map.entry("shuffle-rdma", "transport"),
      Map.entry("rdma-", "transport"),
      Map.entry("softverbs", "transport"),
      Map.entry("Executor task", "task"),
      Map.entry("C1 ", "compiler"),
      Map.entry("C2 ", "compiler"),
      Map.entry("GC ", "gc"),
      Map.entry("G1 ", "gc"),
      Map.entry("VM ", "jvm"));

  /**
   * Reads the times. A thread that ends meanwhile is left out.
   *
   * @param driver where its executors connect, {@code HOST:PORT}
   */
  static ExecutorCpu now(String driver) throws IOException {
    Map<String, Double> threads = new HashMap<>();
    Map<String, String> groups = new HashMap<>();
    int executors = 0;
    double seconds = 0;
    for (ProcessHandle process : ProcessHandle.allProcesses().toList()) {
      List<String> arguments = Arrays.asList(process.info().arguments().orElse(new String[0]));
      if (arguments.contains(EXECUTOR) && arguments.contains(DRIVER_URL + driver)) {
        executors++;
        seconds += ofProcess(process.pid());
        ProcessCpu.forEachThread(process.pid(), (thread, ranNs) -> {
          String name = process.pid() + "/" + thread.getFileName();
          groups.put(name, group(Files.readString(thread.resolve("comm"))));
          threads.put(name, ranNs / 1e9);
        });
      }
    }
    return new ExecutorCpu(executors, seconds, threads, groups);
  }

  private static String group(String threadName) {
    return GROUPS.stream()
        .filter(group -> threadName.startsWith(group.getKey()))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse("other");
  }

  /** User and system time of a whole process, in hundredths of a second (proc(5), USER_HZ). */
  static double ofProcess(long pid) throws IOException {
    String line = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
    String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
  }

  /** Seconds of each group since {@code before}. */
  Map<String, Double> minus(ExecutorCpu before) {
    Map<String, Double> seconds = new TreeMap<>();
    threads.forEach((thread, now) -> seconds.merge(
        groups.getOrDefault(thread, "other"),
        now - before.threads.getOrDefault(thread, 0.0),
        Double::sum));
    return seconds;
  }
}
