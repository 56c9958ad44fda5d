/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.memory.RegisteredArena;

/**
 * Cancels fetches of blocks whose bytes come much later, and says what became of their connection
 * and of the buffers: {@code connection: KIND of breakage, leased or none}.
 */
final class AbandonedReads {
  private static final int BLOCK_BYTES = 100_000;
  private static final long POOL_BYTES = 4 << 20;

  private AbandonedReads() {}

  /**
   * The arguments are a directory, and how many blocks, each in a buffer and by a worker of its own: a quarter of the workers
   * reads from one peer.
   */
  public static void main(String[] arguments) throws Exception {
    int count = Integer.parseInt(arguments[1]);
    long[] lengths = new long[1 + count];
    Arrays.fill(lengths, 1, lengths.length, BLOCK_BYTES);
    lengths[0] = 100;
    try (RdmaTransport owner = TestTransports.open("owner");
        RegisteredArena arena = TestTransports.arena(owner);
        TestMapOutput output = TestMapOutput.publish(
            owner.protectionDomain(), arena, Path.of(arguments[0]), 0, lengths);
        RdmaTransport reader =
            TestTransports.open("reader", TestTransports.settings(0, POOL_BYTES));
        BlockFetcher fetcher =
            new BlockFetcher(reader, new FetchSettings(4 * count, 200, 60_000))) {
      PeerId peer = TestTransports.peerOf("owner", owner);
      CollectingListener first = new CollectingListener(1);
      fetcher.fetch(peer, null, List.of(output.block(0, 0, 1)), first);
      first.await();
      Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));

      long listsBefore = reader.stats().readsSignalled.sum();
      List<BackgroundFetch> fetches = new ArrayList<>();
      for (int i = 1; i <= count; i++) {
        fetches.add(fetcher.fetch(
            peer, null, List.of(output.block(i, i, i + 1)), new CollectingListener(1)));
      }
      Await.atMost(20_000, () -> reader.stats().readsSignalled.sum() == listsBefore + count);
      fetches.forEach(BackgroundFetch::cancel);
      Await.atMost(2_000, () -> reader.buffers().usage().zombieBuffers() == count);
      Await.atMost(6_000, () -> reader.buffers().usage().zombieBuffers() == 0);

      NoConnectionException breakage = connection.breakage();
      System.out.println("connection: " + (breakage == null ? "open" : breakage.failure())
          + (reader.buffers().usage().leasedBuffers() > 0 ? ", leased" : ", none"));
      System.out.flush();
      Runtime.getRuntime().halt(0); // the last frames are still on their way
    }
  }
}
