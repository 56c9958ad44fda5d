/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

/**
 * The counters of the shuffle blocks that a task reads. The names are public: the stage page, the
 * event log, metrics sinks and benchmarks use them.
 *
 * <p>Bytes and blocks are counted at the moments at which Spark counts its own, so that {@code
 * RDMA + TCP} equals Spark's remote and {@code LOCAL + HOST_LOCAL} its local figure.
 */
public enum Counter {
  RDMA_BYTES("bytes", "bytes", "Bytes delivered by RDMA READ, after completion and verification."),
  RDMA_BLOCKS("blocks", "blocks", "Blocks delivered by RDMA READ."),
  MISSED_BLOCKS(
      "misses",
      "blocks",
      "Blocks whose map output was not registered when they were wanted: it was withdrawn, waiting"
          + " for room, or never published."),
  TCP_BYTES("tcp.bytes", "bytes", "Bytes of all other remote reads."),
  TCP_BLOCKS("tcp.blocks", "blocks", "Blocks of all other remote reads."),
  HOST_LOCAL_BYTES(
      "hostLocal.bytes",
      "bytes",
      "Bytes read from the files of another executor on the same host."),
  HOST_LOCAL_BLOCKS(
      "hostLocal.blocks",
      "blocks",
      "Blocks read from the files of another executor on the same host."),
  LOCAL_BYTES(
      "local.bytes",
      "bytes",
      "Bytes read from the executor's own files. Where RDMA did not start, bytes from files of"
          + " another executor on the same host are counted here."),
  LOCAL_BLOCKS(
      "local.blocks",
      "blocks",
      "Blocks read from the executor's own files. Where RDMA did not start, blocks from files of"
          + " another executor on the same host are counted here.");

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

  /** The sentence about this counter in docs/metrics.md. */
  public String meaning() {
    return meaning;
  }
}
