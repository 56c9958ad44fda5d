/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.device.ExecutorMemory;
import scala.Option;

/** Reads an executor's memory from Spark's settings. */
final class SparkMemorySettings {
  private static final long MIB = 1 << 20;

  /** ResourceProfile.MEMORY_OVERHEAD_MIN_MIB; a setting of its own in Spark 4. */
  private static final String LEAST_OVERHEAD = "spark.executor.minMemoryOverhead";

  private static final String LEAST_OVERHEAD_DEFAULT = "384m";

  private SparkMemorySettings() {}

  /** Returns the memory of this executor. */
  static ExecutorMemory memory(SparkConf conf) {
    return ExecutorMemory.of(
        offHeapBytes(conf),
        overhead(conf),
        isOnYarn(conf),
        inFlightBytes(conf),
        executorsByCores(conf, Runtime.getRuntime().availableProcessors()));
  }

  /**
   * Returns how many executors of this size the cores of a host are enough for. Only a standalone
   * cluster is asked: elsewhere an executor has a share of its own. Without {@code
   * spark.executor.cores} an executor there takes all cores that the application may have, and
   * {@code spark.cores.max} leaves the rest to other applications (Master.scheduleExecutorsOnWorkers).
   */
  static int executorsByCores(SparkConf conf, int cores) {
    if (!conf.get("spark.master", "").startsWith("spark://")) {
      return 1;
    }
    if (conf.contains(package$.MODULE$.EXECUTOR_CORES())) {
      return Math.max(1, cores / (int) conf.get(package$.MODULE$.EXECUTOR_CORES()));
    }
    return conf.contains(package$.MODULE$.CORES_MAX()) ? cores : 1;
  }

  private static long offHeapBytes(SparkConf conf) {
    boolean used = (boolean) conf.get(package$.MODULE$.MEMORY_OFFHEAP_ENABLED());
    return used ? (long) conf.get(package$.MODULE$.MEMORY_OFFHEAP_SIZE()) : 0;
  }

  /** What the application set, or what Spark asks of YARN and Kubernetes without that. */
  static ExecutorMemory.@Nullable Overhead overhead(SparkConf conf) {
    Long bytes = overheadBytes(conf);
    String key = package$.MODULE$.EXECUTOR_MEMORY_OVERHEAD().key();
    return bytes == null ? null : new ExecutorMemory.Overhead(bytes, key);
  }

  private static @Nullable Long overheadBytes(SparkConf conf) {
    Option<Object> set = conf.get(package$.MODULE$.EXECUTOR_MEMORY_OVERHEAD());
    if (set.isDefined()) {
      return (long) set.get() * MIB;
    }
    if (!isOnYarn(conf) && !conf.get("spark.master", "").startsWith("k8s")) {
      return null;
    }
    double factor = (double) conf.get(package$.MODULE$.EXECUTOR_MEMORY_OVERHEAD_FACTOR());
    return ExecutorMemory.defaultOverheadBytes(
        (long) conf.get(package$.MODULE$.EXECUTOR_MEMORY()) * MIB,
        factor,
        conf.getSizeAsMb(LEAST_OVERHEAD, LEAST_OVERHEAD_DEFAULT) * MIB);
  }

  private static boolean isOnYarn(SparkConf conf) {
    return conf.get("spark.master", "").equals("yarn");
  }

  private static long inFlightBytes(SparkConf conf) {
    int cores = conf.contains(package$.MODULE$.EXECUTOR_CORES())
        ? (int) conf.get(package$.MODULE$.EXECUTOR_CORES())
        : Runtime.getRuntime().availableProcessors();
    return ExecutorMemory.inFlightBytes(
        cores,
        (int) conf.get(package$.MODULE$.CPUS_PER_TASK()),
        (long) conf.get(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT()) * MIB,
        (long) conf.get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()));
  }
}
