/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.function.ToLongFunction;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;

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

  long bytes(ToLongFunction<ReadCount> counts) {
    return switch (this) {
      case REGISTERED ->
        counts.applyAsLong(Counter.RDMA_BYTES) - counts.applyAsLong(Counter.STAGED_BYTES);
      case STAGED ->
        counts.applyAsLong(Counter.STAGED_BYTES) - counts.applyAsLong(Counter.NODE_SERVICE_BYTES);
      case NODE_SERVICE -> counts.applyAsLong(Counter.NODE_SERVICE_BYTES);
      case TCP -> counts.applyAsLong(Counter.TCP_BYTES);
    };
  }
}
