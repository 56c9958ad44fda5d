/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

/**
 * The counters of the remote shuffle blocks that a task reads. The names are public: the stage page, the
 * event log, metrics sinks and benchmarks use them. docs/metrics.md says what each one counts.
 *
 * <p>Bytes and blocks are counted at the moments at which Spark counts its own, so that {@code
 * RDMA + TCP} equals Spark's remote figure.
 */
public enum Counter implements ReadCount {
  RDMA_BYTES("bytes"),
  RDMA_BLOCKS("blocks"),
  /** Of those that RDMA brought. */
  STAGED_BYTES("staged.bytes"),
  STAGED_BLOCKS("staged.blocks"),
  /** Of those, the ones of a node service. */
  NODE_SERVICE_BYTES("nodeService.bytes"),
  NODE_SERVICE_BLOCKS("nodeService.blocks"),
  MISSED_BLOCKS("misses"),
  TCP_BYTES("tcp.bytes"),
  TCP_BLOCKS("tcp.blocks");

  private static final String PREFIX = "shuffle.rdma.";

  private final String publicName;

  Counter(String name) {
    this.publicName = PREFIX + name;
  }

  @Override
  public String publicName() {
    return publicName;
  }
}
