/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.List;
import java.util.stream.Stream;

/** A count of the shuffle blocks that tasks read: each {@link Counter} and each {@link TcpReason}. */
public sealed interface ReadCount permits Counter, TcpReason {
  /** All counts, in the order of docs/metrics.md. */
  List<ReadCount> ALL = Stream.<ReadCount>concat(
          Stream.of(Counter.values()), Stream.of(TcpReason.values()))
      .toList();

  /** Returns the name in metrics, on the stage page and in the event log. */
  String publicName();
}
