/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;

/**
 * What the calling thread and this process have used so far; two of them make a difference.
 *
 * @param wallNs of the clock that only goes on
 * @param cpuNs of this thread, in user and kernel mode
 * @param dirtiedBytes page cache that this process has made dirty, to be written to a disk
 * @param systemDirtyBytes dirty page cache of the whole system
 */
record Usage(long wallNs, long cpuNs, long dirtiedBytes, long systemDirtyBytes) {
  /** The clocks last: asking the kernel for the rest is not part of what begins. */
  static Usage atStart() throws IOException {
    long dirtied = dirtied();
    long systemDirty = systemDirty();
    long cpuNs = cpu();
    return new Usage(System.nanoTime(), cpuNs, dirtied, systemDirty);
  }

  /** The clocks first. */
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
