/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.verbs.MemlockLimit;

/**
 * What bounds the memory of this executor, as far as the process can tell. All in bytes.
 *
 * @param containerBytes limit of the control group, version 1 or 2; the host's memory if there is
 *     none
 * @param hostBytes memory of the host
 * @param heapBytes the most that this JVM and Spark's off-heap pool take
 * @param overhead what the process was granted beside its heap; null if nobody granted anything
 * @param residentCounts whether whoever started the executor ends it for the pages that it has
 *     resident, those of mapped files included, as YARN does (ProcfsBasedProcessTree)
 * @param inFlightBytes what Spark lets all tasks of the executor fetch at a time, and the largest
 *     block that it fetches to memory
 * @param executorsByCores how many executors of this size the host's cores are enough for, at least 1
 */
public record ExecutorMemory(
    MemlockLimit memlock,
    long containerBytes,
    long hostBytes,
    long heapBytes,
    @Nullable Overhead overhead,
    boolean residentCounts,
    long inFlightBytes,
    int executorsByCores) {
  /**
   * Memory beside the heap.
   *
   * @param key the key of the setting that changes it, for messages
   */
  public record Overhead(long bytes, String key) {}

  private static final long MIB = 1 << 20;

  /** What Spark lets a task fetch at a time. */
  private static final long IN_FLIGHT_DEFAULT_BYTES = 48 * MIB;

  private static final Path MEMINFO = Path.of("/proc/meminfo");
  private static final Pattern TOTAL = Pattern.compile("MemTotal:\\s+(\\d+) kB");

  /**
   * Returns the memory of a process that is no executor and has no Spark: one task per core, with
   * Spark's defaults.
   */
  static ExecutorMemory withoutSpark() {
    long inFlightBytes = Runtime.getRuntime().availableProcessors() * IN_FLIGHT_DEFAULT_BYTES;
    return of(0, null, false, inFlightBytes, 1);
  }

  /**
   * Returns the memory of this process from its JVM and its kernel, with the given settings of
   * Spark.
   */
  public static ExecutorMemory of(
      long offHeapBytes,
      @Nullable Overhead overhead,
      boolean residentCounts,
      long inFlightBytes,
      int executorsByCores) {
    long containerBytes =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
    return new ExecutorMemory(
        MemlockLimit.read(),
        containerBytes,
        hostBytes(containerBytes),
        Runtime.getRuntime().maxMemory() + offHeapBytes,
        overhead,
        residentCounts,
        inFlightBytes,
        executorsByCores);
  }

  /**
   * Returns what Spark lets all tasks of an executor fetch at a time, and the largest block that it fetches to memory.
   *
   * @param perTaskBytes what it lets a task fetch at a time
   * @param largestBlockBytes the size from which on it fetches blocks to files
   */
  public static long inFlightBytes(
      int cores, int coresPerTask, long perTaskBytes, long largestBlockBytes) {
    int tasks = Math.max(1, cores / coresPerTask);
    return tasks * perTaskBytes + Math.min(largestBlockBytes, perTaskBytes * 8);
  }

  /** Returns what Spark asks of YARN and Kubernetes beside the heap if the application does not set it. */
  public static long defaultOverheadBytes(long heapBytes, double factor, long leastBytes) {
    long heapMib = heapBytes / MIB;
    return Math.max(leastBytes / MIB, (long) (factor * heapMib)) * MIB;
  }

  /** Returns how many executors of this size the host's cores and memory are enough for. */
  int executorsOnHost() {
    return (int) Math.max(1, Math.min(executorsByCores, hostBytes / heapBytes));
  }

  boolean isInContainer() {
    return containerBytes < hostBytes;
  }

  private static long hostBytes(long otherwise) {
    try {
      Matcher total = TOTAL.matcher(Files.readString(MEMINFO));
      return total.find() ? Long.parseLong(total.group(1)) * 1024 : otherwise;
    } catch (IOException e) {
      return otherwise;
    }
  }
}
