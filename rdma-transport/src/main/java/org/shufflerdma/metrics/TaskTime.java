/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

/**
 * What a reduce task loses time by, in microseconds, as far as its own thread reads the blocks. The names
 * are public, as those of {@link Counter} are. docs/metrics.md says what each one measures.
 */
public enum TaskTime implements ReadCount {
  /** For READs in flight, those of descriptors included. */
  READ("read"),
  /** For connections, while nothing was in flight. */
  CONNECTION("connection"),
  /** For owners that stage blocks. */
  STAGING("staging"),
  /** For room in a send queue, and for posts of other threads. */
  SEND_QUEUE("sendQueue"),
  /** For a fetch buffer. */
  POOL("pool"),
  /** In computing checksums: of short blocks a sample is timed, which stands for all. */
  CHECKSUM("checksum"),
  /** While blocks were tried that were left to TCP in the end. */
  FALLBACK("fallback");

  private final String publicName;

  TaskTime(String name) {
    this.publicName = "shuffle.rdma.taskTime." + name + "Micros";
  }

  @Override
  public String publicName() {
    return publicName;
  }
}
