/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.List;
import org.shufflerdma.benchmarks.fetch.ProcessCpu;

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
    long[] sumNs = {0};
    ProcessCpu.forEachThread(ProcessHandle.current().pid(), (thread, ranNs) -> {
      String name = Files.readString(thread.resolve("comm"));
      sumNs[0] += PLUGIN_THREADS.stream().anyMatch(name::startsWith) ? ranNs : 0;
    });
    return sumNs[0];
  }
}
