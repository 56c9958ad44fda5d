/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.verbs.MemlockLimit;
import scala.Option;

/**
 * What bounds the memory of this executor, as far as the process can tell. All in bytes.
 *
 * @param containerBytes limit of the control group, version 1 or 2; the host's memory if there is
 *     none
 * @param hostBytes memory of the host
 * @param heapBytes the most that this JVM and Spark's off-heap pool take
 * @param overheadBytes what the application set as {@code spark.executor.memoryOverhead}, or what
 *     Spark asks of YARN and Kubernetes without it; null where neither is so
 * @param inFlightBytes what Spark lets all tasks of the executor fetch at a time, and the largest
 *     block that it fetches to memory
 */
record ExecutorMemory(
    MemlockLimit memlock,
    long containerBytes,
    long hostBytes,
    long heapBytes,
    @Nullable Long overheadBytes,
    long inFlightBytes) {
  private static final long MIB = 1 << 20;
  private static final Path MEMINFO = Path.of("/proc/meminfo");
  private static final Pattern TOTAL = Pattern.compile("MemTotal:\\s+(\\d+) kB");

  /** ResourceProfile.MEMORY_OVERHEAD_MIN_MIB; a setting of its own in Spark 4. */
  private static final String LEAST_OVERHEAD = "spark.executor.minMemoryOverhead";

  private static final String LEAST_OVERHEAD_DEFAULT = "384m";

  static ExecutorMemory of(SparkConf conf) {
    long containerBytes =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
    return new ExecutorMemory(
        MemlockLimit.read(),
        containerBytes,
        hostBytes(containerBytes),
        Runtime.getRuntime().maxMemory() + offHeapBytes(conf),
        overheadBytes(conf),
        inFlightBytes(conf));
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

  private static long offHeapBytes(SparkConf conf) {
    boolean used = (boolean) conf.get(package$.MODULE$.MEMORY_OFFHEAP_ENABLED());
    return used ? (long) conf.get(package$.MODULE$.MEMORY_OFFHEAP_SIZE()) : 0;
  }

  private static @Nullable Long overheadBytes(SparkConf conf) {
    Option<Object> set = conf.get(package$.MODULE$.EXECUTOR_MEMORY_OVERHEAD());
    if (set.isDefined()) {
      return (long) set.get() * MIB;
    }
    String master = conf.get("spark.master", "");
    if (!master.startsWith("yarn") && !master.startsWith("k8s")) {
      return null;
    }
    double factor = (double) conf.get(package$.MODULE$.EXECUTOR_MEMORY_OVERHEAD_FACTOR());
    long share = (long) (factor * (long) conf.get(package$.MODULE$.EXECUTOR_MEMORY()));
    return Math.max(conf.getSizeAsMb(LEAST_OVERHEAD, LEAST_OVERHEAD_DEFAULT), share) * MIB;
  }

  private static long inFlightBytes(SparkConf conf) {
    int cores = conf.contains(package$.MODULE$.EXECUTOR_CORES())
        ? (int) conf.get(package$.MODULE$.EXECUTOR_CORES())
        : Runtime.getRuntime().availableProcessors();
    int tasks = Math.max(1, cores / (int) conf.get(package$.MODULE$.CPUS_PER_TASK()));
    long perTask = (long) conf.get(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT()) * MIB;
    long largest = (long) conf.get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM());
    return tasks * perTask + Math.min(largest, perTask * 8);
  }
}
