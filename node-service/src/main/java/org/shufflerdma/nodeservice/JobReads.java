/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BackgroundFetch;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.BlockRequest;
import org.shufflerdma.fetch.FetchListener;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.staging.OutputName;
import org.shufflerdma.staging.StagingClients;

/**
 * READs map outputs of one job from the node services of other hosts, for the reducers of this one. Any thread may
 * call; its owner closes it before the transport.
 */
final class JobReads implements AutoCloseable {
  /** Hosts whose services can be searched for at a time. */
  private static final int SEARCHES = 8;

  private static final int FETCH_THREADS = 16;

  /** A reducer that waited for longer could have had the output by HTTP. */
  private static final int POOL_WAIT_MS = 200;

  /** An application that is read from so seldom gives its turn to one that waits. */
  private static final long TURN_NS = 1_000_000_000L;

  /** Names and addresses of hosts; a name has 253 characters at most (RFC 1035). */
  private static final Pattern HOST = Pattern.compile("[0-9A-Za-z.:%_-]{1,253}");

  /** After these the service is searched for again, as it may have been started anew. */
  private static final Set<TcpReason> OF_A_SERVICE_THAT_IS_GONE = EnumSet.of(
      TcpReason.CONNECT,
      TcpReason.CONNECT_TIMEOUT,
      TcpReason.PEER_UNREACHABLE,
      TcpReason.REJECTED,
      TcpReason.NONCE,
      TcpReason.CANARY,
      TcpReason.BREAKER,
      TcpReason.CONNECTION_LOST,
      TcpReason.TIMEOUT);

  /** The reason where the service of the other host is not there; it may come back. */
  private static final String NO_SERVICE = "SERVICE";

  /** Is told the outcome of each output, once. Any thread may call. */
  interface Listener {
    /** Takes over a reference to the bytes. */
    void onSuccess(int output, RegisteredSlice bytes);

    void onFailure(int output, String reason);
  }

  private final RdmaTransport transport;
  private final SharedSlabs slabs;
  private final int port;
  private final NodeServices services;
  private final BlockFetcher fetcher;
  private final PerPeerExecutor<String> searches;
  private final Set<BackgroundFetch> underWay = ConcurrentHashMap.newKeySet();
  private final Acquired acquired = new Acquired();
  private volatile boolean closed;

  JobReads(RdmaTransport transport, NodeDevice device, SharedSlabs slabs) {
    this.transport = transport;
    this.slabs = slabs;
    this.port = device.port();
    int timeoutMs = device.settings().connectTimeoutMs();
    this.services = new NodeServices(transport.identity(), port, timeoutMs);
    StagingClients staging = acquired.keep(
        new StagingClients(device.loop(), transport.identity(), transport.settings()));
    ThreadPoolExecutor workers = Workers.poolOnDemand("job-services", SEARCHES);
    acquired.keep(() -> endAll(workers));
    this.searches = new PerPeerExecutor<>(workers, 1);
    this.fetcher = acquired.keep(new BlockFetcher(
        transport,
        staging,
        null,
        new FetchSettings(
            FETCH_THREADS,
            POOL_WAIT_MS,
            FetchSettings.of(1, device.settings().withdrawGraceMs()).leaseMs())));
  }

  /**
   * Fetches one partition of map outputs of a host.
   *
   * @param begun is given each fetch, which it may cancel
   */
  void fetch(ReducerMessages.Fetch wanted, Listener listener, Consumer<BackgroundFetch> begun) {
    if (services.isSearchedFor(wanted.host())) {
      searches.execute(wanted.host(), () -> search(wanted, listener, begun));
    } else { // others' searches must not keep it waiting
      search(wanted, listener, begun);
    }
  }

  /** Those that have not begun run now, and fail, as their reducers wait for the outcome. */
  private void endAll(ThreadPoolExecutor workers) {
    closed = true;
    workers.shutdownNow().forEach(Runnable::run);
  }

  private void search(
      ReducerMessages.Fetch wanted, Listener listener, Consumer<BackgroundFetch> begun) {
    BackgroundFetch fetch;
    try {
      if (closed) {
        throw new IOException("the device of the job is closed");
      }
      List<BlockRequest> blocks = new ArrayList<>(wanted.outputs().size());
      if (!HOST.matcher(wanted.host()).matches()) {
        throw new IllegalArgumentException("no name of a host");
      }
      for (int output = 0; output < wanted.outputs().size(); output++) {
        blocks.add(new BlockRequest(
            output,
            DescriptorRef.of(OutputName.inFolder(wanted.outputs().get(output))),
            wanted.reduce(),
            wanted.reduce() + 1,
            null));
      }
      PeerId service =
          services.find(wanted.host(), Deadline.afterMs(transport.settings().connectTimeoutMs()));
      fetch = prepare(service, wanted.host(), blocks, listener);
    } catch (IOException | RuntimeException | Error e) {
      String reason = reasonOf(e);
      for (int output = 0; output < wanted.outputs().size(); output++) {
        listener.onFailure(output, reason);
      }
      return;
    }
    underWay.add(fetch);
    begun.accept(fetch);
    fetch.start();
  }

  private BackgroundFetch prepare(
      PeerId service, String host, List<BlockRequest> blocks, Listener listener) {
    return fetcher.prepare(service, new InetSocketAddress(host, port), blocks, new FetchListener() {
      @Override
      public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
        listener.onSuccess((int) tag, block);
      }

      @Override
      public void onStreamed(long tag, long lengthBytes, Origin origin) {
        throw new IllegalStateException("an output that was not to be streamed");
      }

      @Override
      public void onFailure(long tag, TcpReason reason, Throwable cause) {
        if (OF_A_SERVICE_THAT_IS_GONE.contains(reason)) {
          services.forget(service);
        }
        listener.onFailure(
            (int) tag, reason == TcpReason.PEER_UNREACHABLE ? NO_SERVICE : reason.name());
      }
    });
  }

  private static String reasonOf(Throwable failure) {
    if (failure instanceof IOException) {
      return NO_SERVICE;
    }
    return failure instanceof IllegalArgumentException ? "NAME" : TcpReason.INTERNAL.name();
  }

  /** Several times a second: gives up what others wait for. */
  void giveWay() {
    underWay.removeIf(BackgroundFetch::hasEnded);
    if (slabs.isToGiveWay(transport.buffers().slabBytes(), TURN_NS)) {
      transport.buffers().giveWay();
    }
  }

  boolean isUsed() {
    return !underWay.isEmpty() || transport.buffers().usage().leasedBuffers() > 0;
  }

  @Override
  public void close() {
    acquired.close();
  }
}
