/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;

/**
 * The resources that the calling thread and this process have used so far; the difference of two
 * shows what was used between them.
 *
 * @param wallNs the monotonic clock
 * @param cpuNs the CPU time of this thread, in user and kernel mode
 * @param dirtiedBytes the page cache that this process has made dirty, to be written to a disk
 * @param systemDirtyBytes the dirty page cache of the whole system
 */
record Usage(long wallNs, long cpuNs, long dirtiedBytes, long systemDirtyBytes) {
  /**
   * Starts a measurement. It reads the clocks last, so that they do not count the other queries.
   */
  static Usage atStart() throws IOException {
    long dirtied = dirtied();
    long systemDirty = systemDirty();
    long cpuNs = cpu();
    return new Usage(System.nanoTime(), cpuNs, dirtied, systemDirty);
  }

  /** Ends a measurement. It reads the clocks first, so that they do not count the other queries. */
  static Usage atEnd() throws IOException {
    long wallNs = System.nanoTime();
    long cpuNs = cpu();
    return new Usage(wallNs, cpuNs, dirtied(), systemDirty());
  }

  private static long cpu() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private static long dirtied() throws IOException {
    return Proc.number(Path.of("/proc/self/io"), "write_bytes");
  }

  private static long systemDirty() throws IOException {
    return Proc.number(Path.of("/proc/meminfo"), "Dirty") << 10;
  }

  Usage since(Usage before) {
    return new Usage(
        wallNs - before.wallNs,
        cpuNs - before.cpuNs,
        dirtiedBytes - before.dirtiedBytes,
        systemDirtyBytes - before.systemDirtyBytes);
  }
}
