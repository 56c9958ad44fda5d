/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.util.List;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;

/**
 * The plugin as reduce tasks use it: the blocks come in the thread that asks for them, from where they are
 * registered or by being staged.
 */
final class DirectReader implements BlockReader {
  private static final int MAX_BYTES = 48 << 20;
  private static final DirectFetch.Limits LIMITS =
      new DirectFetch.Limits(MAX_BYTES, Integer.MAX_VALUE, Integer.MAX_VALUE);

  private final FetcherReader plugin;
  private final boolean staged;

  /**
   * A reader over the connection of another one, which must be closed after it.
   *
   * @param staged whether the server is to stage the blocks, as if they were not registered
   */
  DirectReader(FetcherReader plugin, boolean staged) {
    this.plugin = plugin;
    this.staged = staged;
  }

  @Override
  public void begin(BlockSet set) {
    plugin.begin(set);
  }

  /** Returns when the last block has come. */
  @Override
  public void request(BlockSet set, int partition, Tally tally)
      throws IOException, InterruptedException {
    PeerBlocks blocks = new PeerBlocks(plugin.peer(), null);
    for (int map = 0; map < set.maps(); map++) {
      blocks.add(
          staged
              ? DescriptorRef.unregistered(set.shuffleId(), map, set.partitions())
              : plugin.descriptor(set, map),
          partition,
          partition + 1);
    }
    try (DirectFetch fetch = plugin.fetcher().direct(List.of(blocks), LIMITS, () -> {})) {
      while (fetch.next()) {
        tally.add(fetch.bytes().nioBuffer());
      }
      if (!fetch.left().isEmpty()) {
        throw new IOException("blocks were not delivered: " + fetch.left());
      }
    }
  }
}
