/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.descriptor.DescriptorCache;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.FetchContext;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.direct.TaskFetches;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.fetch.read.ReadLimits;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.staging.StagingClients;
import org.shufflerdma.verbs.PortInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches blocks from peers by RDMA READ, in the calling task's thread ({@link #direct}) or in the background
 * ({@link #fetch}). Any thread may call. Closed by its owner before the transport.
 */
public final class BlockFetcher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BlockFetcher.class);
  private static final int MAX_READ_BYTES = 1 << 30;
  private static final int SHARED_BUFFER_BYTES = 1 << 20;
  private static final int CLOSE_MS = 5_000;

  /** Whoever has blocks fetched in the background limits what he asks for. */
  private static final DirectFetch.Limits BACKGROUND_LIMITS =
      new DirectFetch.Limits(Long.MAX_VALUE / 2, Integer.MAX_VALUE, Integer.MAX_VALUE);

  /** The number of peers that must block all of their workers, with fetches of one kind, before other peers have to wait. */
  private static final int LANES = 4;

  /** They run fetches in the background, and start with the first of them. */
  private final ThreadPoolExecutor workers;

  /** Has the fetches from a peer that does not answer leave workers to others. */
  private final PerPeerExecutor<PeerId> lanes;

  /** For fetches that may wait for staging memory, or for a disk that is written to: others do not stand behind them. */
  private final PerPeerExecutor<PeerId> slowLanes;

  /**
   * They make control connections and find node services. They are others, so that tasks do not wait for blocks that
   * are written to a slow disk.
   */
  private final ThreadPoolExecutor connectors;

  private final FetchStats stats = new FetchStats();
  private final FetchContext context;
  private volatile boolean closed;

  /** One that has no blocks staged. */
  public BlockFetcher(RdmaTransport transport, FetchSettings settings) {
    this(transport, null, null, settings);
  }

  /**
   * @param staging connects to where peers stage map outputs; it remains its owner's, who closes it later
   * @param services finds the node services of hosts whose executors cannot be reached; null if there are
   *     none
   */
  public BlockFetcher(
      RdmaTransport transport,
      @Nullable StagingClients staging,
      @Nullable NodeServices services,
      FetchSettings settings) {
    this.workers = Workers.poolOnDemand("rdma-fetch", settings.threads());
    this.lanes = lanes(workers);
    this.slowLanes = lanes(workers);
    this.connectors = Workers.poolOnDemand("rdma-control", settings.threads());
    this.context = new FetchContext(
        transport.connections(),
        transport.poller(),
        transport.buffers(),
        new DescriptorCache(),
        new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
        lanes(connectors),
        () -> closed,
        stats,
        new ReadLimits(
            transport.settings().readsPerList(),
            maxReadBytes(transport),
            Math.min(SHARED_BUFFER_BYTES, transport.buffers().slabBytes())),
        staging,
        services,
        transport.settings().progressTimeoutMs(),
        settings.poolWaitMs(),
        settings.leaseMs());
  }

  private static <P> PerPeerExecutor<P> lanes(ThreadPoolExecutor workers) {
    return new PerPeerExecutor<>(workers, Math.max(1, workers.getCorePoolSize() / LANES));
  }

  private static int maxReadBytes(RdmaTransport transport) {
    long bytes = MAX_READ_BYTES;
    for (PortInfo port : transport.device().ports()) {
      if (port.maxMsgBytes() > 0) {
        bytes = Math.min(bytes, port.maxMsgBytes());
      }
    }
    return Math.toIntExact(bytes);
  }

  /** Has a worker read blocks of one peer, and returns at once; see {@link #prepare}. */
  public BackgroundFetch fetch(
      PeerId peer,
      @Nullable InetSocketAddress tcpAddress,
      List<BlockRequest> blocks,
      FetchListener listener) {
    BackgroundFetch fetch = prepare(peer, tcpAddress, blocks, listener);
    fetch.start();
    return fetch;
  }

  /**
   * Prepares a fetch of blocks of one peer by a worker, which the caller starts.
   *
   * @param tcpAddress address of the peer's host, which is probed to tell a lost peer from one whose
   *     RDMA failed; null if it is not known
   */
  public BackgroundFetch prepare(
      PeerId peer,
      @Nullable InetSocketAddress tcpAddress,
      List<BlockRequest> blocks,
      FetchListener listener) {
    PeerBlocks ofPeer = new PeerBlocks(peer, tcpAddress);
    boolean mayBeSlow = false;
    for (BlockRequest block : blocks) {
      DescriptorRef output =
          context.cache().located(peer.endpoint().bootNonce(), block.descriptor());
      if (block.endPartition() > output.partitions()) {
        output = block.descriptor(); // whose owner says what is wrong
      }
      mayBeSlow |= block.sink() != null || !output.isRegistered();
      if (block.sink() == null) {
        ofPeer.add(output, block.startPartition(), block.endPartition());
      } else {
        ofPeer.addInPieces(output, block.startPartition(), block.endPartition());
      }
    }
    PerPeerExecutor<PeerId> of = mayBeSlow ? slowLanes : lanes;
    return new BackgroundFetch(
        direct(List.of(ofPeer), BACKGROUND_LIMITS, () -> {}),
        List.copyOf(blocks),
        listener,
        fetch -> of.execute(peer, fetch::run));
  }

  /** Makes a fetch whose blocks the calling task reads in its own thread; see {@link DirectFetch#DirectFetch}. */
  public DirectFetch direct(
      TaskFetches ofTask,
      List<PeerBlocks> peers,
      DirectFetch.Limits limits,
      Runnable whileWaiting) {
    return new DirectFetch(context, ofTask, peers, limits, whileWaiting);
  }

  /** Makes the only fetch of a task. */
  public DirectFetch direct(
      List<PeerBlocks> peers, DirectFetch.Limits limits, Runnable whileWaiting) {
    return direct(new TaskFetches(), peers, limits, whileWaiting);
  }

  /** Forgets the descriptors of a shuffle that has been removed. */
  public void forgetShuffle(int shuffleId) {
    context.cache().forgetShuffle(shuffleId);
  }

  public FetchStats stats() {
    return stats;
  }

  /** Ends all fetches; blocks not delivered yet fail as CLOSED. */
  @Override
  public void close() {
    closed = true;
    List.of(workers, connectors).forEach(pool -> pool.shutdownNow().forEach(Runnable::run));
    Deadline ended = Deadline.afterMs(CLOSE_MS);
    try {
      boolean connected = connectors.awaitTermination(ended.remainingNs(), TimeUnit.NANOSECONDS);
      boolean written = workers.awaitTermination(ended.remainingNs(), TimeUnit.NANOSECONDS);
      if (!connected || !written) {
        LOG.warn("Some fetches are still running {} ms after their fetcher was closed", CLOSE_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
