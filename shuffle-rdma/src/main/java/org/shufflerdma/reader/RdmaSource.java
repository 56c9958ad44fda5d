/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.FallbackThreads;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.staging.StagingClients;

/**
 * The objects that an executor's readers need to read by RDMA. It owns the fetcher and the threads; its
 * owner closes it before the transport.
 */
public record RdmaSource(
    BlockFetcher fetcher, LocationTable locations, FallbackThreads fallbackThreads)
    implements AutoCloseable {
  public static RdmaSource open(
      RdmaTransport transport,
      StagingClients staging,
      @Nullable NodeServices services,
      FetchSettings settings,
      LocationTable locations) {
    FallbackThreads fallbackThreads = new FallbackThreads();
    try {
      return new RdmaSource(
          new BlockFetcher(transport, staging, services, settings), locations, fallbackThreads);
    } catch (Throwable t) {
      fallbackThreads.close();
      throw t;
    }
  }

  /** Closes the fetcher first, because the threads send the blocks that the fetcher gives up. */
  @Override
  public void close() {
    fetcher.close();
    fallbackThreads.close();
  }
}
