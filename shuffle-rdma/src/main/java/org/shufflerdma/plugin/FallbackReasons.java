/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.shufflerdma.fetch.FetchFailureReason;
import org.shufflerdma.reader.TcpReason;

/** The reasons for which a block can be fetched by TCP, as the counters name them. */
final class FallbackReasons {
  private FallbackReasons() {}

  static List<String> all() {
    return Stream.concat(
            Arrays.stream(TcpReason.values()).map(TcpReason::label),
            Arrays.stream(FetchFailureReason.values()).map(FetchFailureReason::label))
        .distinct()
        .toList();
  }
}
