/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.shufflerdma.metrics.Counter;

/** The ways by which remote bytes come. Together they are all of them. */
enum Way {
  REGISTERED("registered", "#2a7ab0"),
  STAGED("staged", "#7db8da"),
  NODE_SERVICE("node service", "#3c9d6b"),
  TCP("TCP", "#d9822b");

  final String label;

  /** Seen on light and on dark ground. */
  final String color;

  Way(String label, String color) {
    this.label = label;
    this.color = color;
  }

  long bytes(StageRecord record) {
    return switch (this) {
      case REGISTERED -> record.count(Counter.RDMA_BYTES) - record.count(Counter.STAGED_BYTES);
      case STAGED -> record.count(Counter.STAGED_BYTES) - record.count(Counter.NODE_SERVICE_BYTES);
      case NODE_SERVICE -> record.count(Counter.NODE_SERVICE_BYTES);
      case TCP -> record.count(Counter.TCP_BYTES);
    };
  }
}
