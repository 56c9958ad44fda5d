/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How many descriptors and mappings this process may have, which everything in it shares.
 *
 * @param descriptors the soft limit of open files, RLIMIT_NOFILE of getrlimit(2)
 * @param mappings vm.max_map_count of the host
 */
public record ProcessLimits(long descriptors, long mappings) {
  private static final Path MAX_MAP_COUNT = Path.of("/proc/sys/vm/max_map_count");

  /** Of the kernel, where nobody has set another. */
  private static final long DEFAULT_MAPPINGS = 65_530;

  /** The least that a process may rely on, by POSIX. */
  private static final long LEAST_DESCRIPTORS = 20;

  /** Reads the limits as they are now. */
  public static ProcessLimits read() {
    long descriptors =
        ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
            ? system.getMaxFileDescriptorCount()
            : LEAST_DESCRIPTORS;
    return new ProcessLimits(Math.max(LEAST_DESCRIPTORS, descriptors), maxMapCount());
  }

  /** The kernel gives the whole text to the first read alone, which must therefore be a large one. */
  private static long maxMapCount() {
    try (BufferedReader file = Files.newBufferedReader(MAX_MAP_COUNT)) {
      return Long.parseLong(String.valueOf(file.readLine()).trim());
    } catch (IOException | NumberFormatException e) {
      return DEFAULT_MAPPINGS; // some containers hide it
    }
  }
}
