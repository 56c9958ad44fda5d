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
  /** Delivered by RDMA READ, after a successful completion and verification. */
  RDMA_BYTES("shuffle.rdma.bytes"),
  RDMA_BLOCKS("shuffle.rdma.blocks"),
  /** Asked for by RDMA when their map output was not registered: withdrawn, waiting, or never. */
  MISSED_BLOCKS("shuffle.rdma.misses"),
  /** Every other remote read. */
  TCP_BYTES("shuffle.rdma.tcp.bytes"),
  TCP_BLOCKS("shuffle.rdma.tcp.blocks"),
  /** Read from the files of another executor of the same host. */
  HOST_LOCAL_BYTES("shuffle.rdma.hostLocal.bytes"),
  HOST_LOCAL_BLOCKS("shuffle.rdma.hostLocal.blocks"),
  /** Read from the executor's own files. */
  LOCAL_BYTES("shuffle.rdma.local.bytes"),
  LOCAL_BLOCKS("shuffle.rdma.local.blocks");

  private final String publicName;

  Counter(String publicName) {
    this.publicName = publicName;
  }

  public String publicName() {
    return publicName;
  }
}
