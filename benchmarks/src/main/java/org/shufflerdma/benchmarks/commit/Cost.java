/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Wall time, and CPU time of the calling thread. */
public record Cost(long wallNs, long cpuNs) {
  private static final List<String> PLUGIN_THREADS = List.of("rdma-", "shuffle-rdma", "softverbs");

  public static Cost now() {
    return new Cost(
        System.nanoTime(), ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
  }

  public Cost minus(Cost other) {
    return new Cost(wallNs - other.wallNs, cpuNs - other.cpuNs);
  }

  Cost plus(Cost other) {
    return new Cost(wallNs + other.wallNs, cpuNs + other.cpuNs);
  }

  /** CPU time so far of the plugin's and the device's living threads, as Linux counts it. */
  static long pluginThreadsNs() throws IOException {
    long sum = 0;
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path task : tasks) {
        try {
          String name = Files.readString(task.resolve("comm"));
          if (PLUGIN_THREADS.stream().anyMatch(name::startsWith)) {
            String ranNs = Files.readString(task.resolve("schedstat")).split(" ", -1)[0];
            sum += Long.parseLong(ranNs);
          }
        } catch (NoSuchFileException e) {
          // The thread has ended.
        }
      }
    }
    return sum;
  }
}
