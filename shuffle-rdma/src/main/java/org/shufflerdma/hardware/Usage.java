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
  static Usage now() throws IOException {
    return new Usage(
        System.nanoTime(),
        ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime(),
        Proc.number(Path.of("/proc/self/io"), "write_bytes"),
        Proc.number(Path.of("/proc/meminfo"), "Dirty") << 10);
  }

  Usage since(Usage before) {
    return new Usage(
        wallNs - before.wallNs,
        cpuNs - before.cpuNs,
        dirtiedBytes - before.dirtiedBytes,
        systemDirtyBytes - before.systemDirtyBytes);
  }
}
