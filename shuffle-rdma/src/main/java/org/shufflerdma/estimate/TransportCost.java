/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/**
 * What blocks cost with Spark's transport, by docs/benchmarks.md. Of each size it takes the largest figure that is
 * published and may be cited, as it is for an upper bound: no job can be sure of it.
 */
final class TransportCost {
  private static final double KIB = 1024;

  /** Rows of block sizes in KiB, and of the CPU of Netty at both ends between hosts, in µs. */
  private static final double[][] TCP = {
    {16, 75}, {64, 107}, {256, 372}, {1024, 1190}, {4096, 5952},
  };

  /** What a small block of the own executor or host costs more with Spark than with the plugin: stock-local, move-many. */
  private static final double LOCAL_MICROS = 19;

  /** The plugin's CPU for a READ by a NIC, by the model of docs/benchmarks.md: for each, and for each KiB. */
  private static final double READ_MICROS = 0.85;

  private static final double READ_MICROS_PER_KIB = 0.1;

  private TransportCost() {}

  /** Returns what a remote block of this size costs more with TCP than with a NIC, in µs. */
  static double savedMicrosPerBlock(double bytes) {
    double kib = bytes / KIB;
    return Math.max(0, tcpMicros(kib) - READ_MICROS - READ_MICROS_PER_KIB * kib);
  }

  private static double tcpMicros(double kib) {
    double[] before = TCP[0];
    for (double[] row : TCP) {
      if (kib <= row[0]) {
        return row == before
            ? row[1]
            : before[1] + (kib - before[0]) / (row[0] - before[0]) * (row[1] - before[1]);
      }
      before = row;
    }
    return before[1] * kib / before[0];
  }

  /** Returns all that the task can save: its wait, and the CPU that its blocks cost its own host and others. */
  static double mostSavedMicros(TaskEnd task) {
    long blocks = task.of(TaskMetric.REMOTE_BLOCKS);
    double each =
        blocks == 0 ? 0 : savedMicrosPerBlock((double) task.of(TaskMetric.REMOTE_BYTES) / blocks);
    return task.of(TaskMetric.FETCH_WAIT_MS) * 1000.0
        + blocks * each
        + task.of(TaskMetric.LOCAL_BLOCKS) * LOCAL_MICROS;
  }
}
