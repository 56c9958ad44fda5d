/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.List;
import java.util.stream.Stream;

/**
 * A count of the shuffle blocks that tasks read, or of the time that they lose: each {@link Counter}, each
 * {@link TaskTime} and each {@link TcpReason}.
 */
public sealed interface ReadCount permits Counter, TaskTime, TcpReason {
  /** All counts, in the order of docs/metrics.md. */
  List<ReadCount> ALL = Stream.<ReadCount[]>of(
          Counter.values(), TaskTime.values(), TcpReason.values())
      .flatMap(Stream::of)
      .toList();

  /** Returns the name in metrics, on the stage page and in the event log. */
  String publicName();
}
