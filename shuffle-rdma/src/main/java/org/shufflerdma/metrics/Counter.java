/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

/**
 * What every task counts about the shuffle blocks it read. The names are public: stage page, event
 * log, metrics sinks and benchmarks use them.
 *
 * <p>Bytes and blocks are counted at the moments at which Spark counts its own, so that {@code
 * RDMA + TCP} equals Spark's remote and {@code LOCAL + HOST_LOCAL} its local figure.
 */
public enum Counter {
  RDMA_BYTES("bytes", "bytes", "delivered by RDMA READ, after completion and verification"),
  RDMA_BLOCKS("blocks", "blocks", "the same"),
  MISSED_BLOCKS(
      "misses",
      "blocks",
      "asked for by RDMA when their map output was not registered: withdrawn, waiting, or never"),
  TCP_BYTES("tcp.bytes", "bytes", "every other remote read"),
  TCP_BLOCKS("tcp.blocks", "blocks", "the same"),
  HOST_LOCAL_BYTES(
      "hostLocal.bytes", "bytes", "read from the files of another executor of the same host"),
  HOST_LOCAL_BLOCKS("hostLocal.blocks", "blocks", "the same"),
  LOCAL_BYTES("local.bytes", "bytes", "read from the executor's own files"),
  LOCAL_BLOCKS("local.blocks", "blocks", "the same");

  private static final String PREFIX = "shuffle.rdma.";

  private final String publicName;
  private final String unit;
  private final String meaning;

  Counter(String name, String unit, String meaning) {
    this.publicName = PREFIX + name;
    this.unit = unit;
    this.meaning = meaning;
  }

  public String publicName() {
    return publicName;
  }

  public String unit() {
    return unit;
  }

  /** For docs/metrics.md. */
  public String meaning() {
    return meaning;
  }
}
