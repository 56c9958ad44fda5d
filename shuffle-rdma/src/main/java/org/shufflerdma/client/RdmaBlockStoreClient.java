/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.fetch.BackgroundFetch;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.BlockRequest;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves Spark's block iterator. It fetches blocks with a location by RDMA; Spark's own client fetches
 * all others, and those that RDMA does not deliver. One per reader, or per task whose readers are not the plugin's.
 * Requests come from the task's thread, or from one that feeds the task's child process, and may cross with the task's end.
 */
public final class RdmaBlockStoreClient extends ForwardingClient {
  private static final Logger LOG = LoggerFactory.getLogger(RdmaBlockStoreClient.class);

  private final BlockFetcher fetcher;
  private final OutputLocations locations;
  private final ReadCounters counters;
  private final FallbackThreads fallbackThreads;
  private final FallbackLog log;

  /** Blocks that RDMA has delivered, if those that are asked for again come by TCP. */
  private final @Nullable Set<ShuffleBlockName> delivered;

  private record Begun(FetchAttempt attempt, BackgroundFetch fetch) {}

  /** What may not have ended yet. Guarded by itself, as is the next. */
  private final List<Begun> begun = new ArrayList<>();

  private boolean cancelled;

  /**
   * @param asksAgainIfDamaged whether a block that is asked for again could not be decoded, and therefore comes by TCP. Another reader of
   *     the same task may want the same block, too
   */
  public RdmaBlockStoreClient(
      BlockStoreClient spark,
      BlockFetcher fetcher,
      OutputLocations locations,
      boolean asksAgainIfDamaged,
      ReadCounters counters,
      FallbackThreads fallbackThreads,
      FallbackLog log) {
    super(spark);
    this.fetcher = fetcher;
    this.locations = locations;
    this.delivered = asksAgainIfDamaged ? ConcurrentHashMap.newKeySet() : null;
    this.counters = counters;
    this.fallbackThreads = fallbackThreads;
    this.log = log;
  }

  @Override
  public void fetchBlocks(
      String host,
      int port,
      String execId,
      String[] blockIds,
      BlockFetchingListener listener,
      @Nullable DownloadFileManager files) {
    TcpRoute tcp = new TcpRoute(spark, host, port, execId, listener, files, fallbackThreads);
    FetchAttempt attempt =
        new FetchAttempt(blockIds.length, listener, tcp, delivered, counters, log);
    Map<PeerId, List<BlockRequest>> byPeer = new LinkedHashMap<>();
    List<String> byTcp = new ArrayList<>();
    for (int i = 0; i < blockIds.length; i++) {
      Optional<ShuffleBlockName> name = ShuffleBlockName.parse(blockIds[i]);
      MapOutputLocation location =
          name.map(parsed -> locations.locationOf(parsed, execId)).orElse(null);
      Optional<TcpReason> reason = reasonForTcp(name, location, execId);
      FileSink sink = null;
      if (reason.isEmpty() && files != null) {
        sink = openSink(files);
        reason = sink == null ? Optional.of(TcpReason.FILE) : reason;
      }
      if (reason.isEmpty() && name.isPresent() && location != null) {
        attempt.expect(i, blockIds[i], name.get(), sink);
        byPeer
            .computeIfAbsent(location.peer(), peer -> new ArrayList<>())
            .add(requestOf(i, name.get(), location, sink));
      } else {
        RdmaCounts.addLeft(counters, reason.orElse(TcpReason.NO_LOCATION));
        byTcp.add(blockIds[i]);
      }
    }
    InetSocketAddress tcpAddress = InetSocketAddress.createUnresolved(host, port);
    byPeer.forEach(
        (peer, requests) -> start(attempt, fetcher.prepare(peer, tcpAddress, requests, attempt)));
    if (!byTcp.isEmpty()) {
      spark.fetchBlocks(host, port, execId, byTcp.toArray(new String[0]), listener, files);
    }
  }

  private Optional<TcpReason> reasonForTcp(
      Optional<ShuffleBlockName> name, @Nullable MapOutputLocation location, String execId) {
    if (name.isEmpty()) {
      return Optional.of(TcpReason.OTHER_BLOCK);
    }
    if (location == null) {
      return Optional.of(locations.absenceOf(name.get(), execId));
    }
    return delivered != null && delivered.contains(name.get())
        ? Optional.of(TcpReason.REFETCH)
        : Optional.empty();
  }

  private static @Nullable FileSink openSink(DownloadFileManager files) {
    try {
      return FileSink.open(files);
    } catch (IOException e) {
      LOG.warn("No temporary file could be created for a large block, which is fetched by TCP", e);
      return null;
    }
  }

  /** The task can cancel it before it begins. */
  private void start(FetchAttempt attempt, BackgroundFetch fetch) {
    boolean isWanted;
    synchronized (begun) {
      begun.removeIf(earlier -> earlier.fetch.hasEnded());
      isWanted = !cancelled;
      if (isWanted) {
        begun.add(new Begun(attempt, fetch));
      }
    }
    if (isWanted) {
      fetch.start();
    } else {
      fetch.cancel();
      attempt.end();
    }
  }

  /**
   * Ends the fetches of a task that ends: nothing is delivered any more, and nothing is waited for.
   */
  public void cancel() {
    List<Begun> all;
    synchronized (begun) {
      cancelled = true;
      all = List.copyOf(begun);
      begun.clear(); // the task may keep this object for longer
    }
    all.forEach(each -> each.fetch.cancel());
    all.forEach(each -> each.attempt.end());
    if (delivered != null) {
      delivered.clear();
    }
  }

  private static BlockRequest requestOf(
      int tag, ShuffleBlockName name, MapOutputLocation location, @Nullable FileSink sink) {
    return new BlockRequest(
        tag, location.descriptor(), name.startPartition(), name.endPartition(), sink);
  }

  /** Spark's client belongs to the block manager, and ends with it. */
  @Override
  public void close() throws IOException {}
}
