/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.metrics.TcpReason;

/** What a fetch has brought, from where, and what it has left, by the numbers of the blocks. */
public record FetchOutcome(
    Map<Integer, byte[]> blocks, Set<Origin> origins, Map<Integer, TcpReason> left) {
  FetchOutcome() {
    this(new TreeMap<>(), EnumSet.noneOf(Origin.class), new TreeMap<>());
  }

  /** Takes everything of a fetch, which the caller closes. */
  public static FetchOutcome of(DirectFetch fetch) throws InterruptedException {
    FetchOutcome outcome = new FetchOutcome();
    while (fetch.next()) {
      outcome.take(fetch);
    }
    outcome.takeLeft(fetch);
    return outcome;
  }

  /** Takes the block that has just come. */
  void take(DirectFetch fetch) {
    byte[] copy = new byte[Math.toIntExact(fetch.bytes().lengthBytes())];
    fetch.bytes().nioBuffer().get(copy);
    origins.add(fetch.origin());
    assertThat(blocks.put(fetch.block(), copy)).as("read twice").isNull();
  }

  void takeLeft(DirectFetch fetch) {
    fetch.left().forEach(block -> left.put(block.block(), block.reason()));
  }
}
