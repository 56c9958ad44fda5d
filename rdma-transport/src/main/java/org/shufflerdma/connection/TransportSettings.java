/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.SlabMemory;

/**
 * Limits and times of a transport.
 *
 * @param bindAddress local address of the listener and of all connections; port 0 takes a free one
 * @param usesOneOfSeveralRails whether peers may be on other rails than this executor
 * @param sendQueueDepth the most work requests in flight per connection, as long as there are few connections
 * @param readsPerList work requests chained behind one signalled completion
 * @param maxConnections connections that this side opens, as far as the device has what they
 *     need; bounds the completion queue
 * @param maxInboundConnections connections of peers; one more takes the place of the oldest, or is
 *     rejected
 * @param connectTimeoutMs for each answer on the way from address to canary
 * @param progressTimeoutMs without a completion while READs are outstanding, then the connection
 *     is given up
 * @param peerLostTimeoutMs the same, if the peer does not answer a TCP connect either
 * @param drainTimeoutMs for flushed completions before a queue pair is destroyed regardless
 * @param breakerFailures in a row after which a peer is left alone
 * @param breakerOpenMs how long it is left alone, and how long at least an inbound connection keeps
 *     its place
 * @param connection what is asked of each connection
 */
public record TransportSettings(
    InetSocketAddress bindAddress,
    boolean usesOneOfSeveralRails,
    int sendQueueDepth,
    int readsPerList,
    int maxConnections,
    int maxInboundConnections,
    int connectTimeoutMs,
    int progressTimeoutMs,
    int peerLostTimeoutMs,
    int drainTimeoutMs,
    int breakerFailures,
    int breakerOpenMs,
    ConnectionSettings connection,
    PoolSettings pool) {
  static final int MAX_READS_PER_LIST = 1 << 8;
  private static final int READS_PER_LIST = 64;
  private static final long SERVING_POOL_BYTES = 1 << 20;
  private static final int LEAST_INBOUND_LIMIT = 1024;
  private static final int DRAIN_TIMEOUT_MS = 5_000;
  private static final int BREAKER_FAILURES = 3;
  private static final int BREAKER_OPEN_MS = 60_000;

  public TransportSettings {
    if (readsPerList < 1 || readsPerList > MAX_READS_PER_LIST) {
      throw new IllegalArgumentException(
          "readsPerList=" + readsPerList + ": 1 to " + MAX_READS_PER_LIST);
    }
    if (sendQueueDepth < readsPerList) {
      throw new IllegalArgumentException(
          "sendQueueDepth=" + sendQueueDepth + ": at least readsPerList=" + readsPerList);
    }
  }

  QueueDepths queueDepths() {
    return new QueueDepths(sendQueueDepth, readsPerList);
  }

  /**
   * How long a connection may have READs outstanding without a completion although its peer's host answers TCP. With
   * several rails that answer says little, as the port of the peer's may be down.
   */
  int silenceTimeoutMs() {
    return usesOneOfSeveralRails
        ? Math.min(progressTimeoutMs, peerLostTimeoutMs)
        : progressTimeoutMs;
  }

  /** After how many milliseconds of silence the host of a peer is asked by TCP, which may take the rest of the timeout. */
  int hostAskedAfterMs() {
    return Math.max(0, peerLostTimeoutMs - TcpProbe.TOTAL_MS);
  }

  /** Returns the key of the setting {@code name} as the user writes it, for messages. */
  String key(String name) {
    return connection.keyPrefix() + name;
  }

  /**
   * Derives the transport's settings from the user's, with {@code poolBytes} of fetch buffers, at
   * {@code address}.
   */
  public static TransportSettings of(RdmaSettings settings, long poolBytes, InetAddress address) {
    PoolSettings pool = PoolSettings.ofBudget(poolBytes);
    return new TransportSettings(
        new InetSocketAddress(address, 0),
        !settings.rails().isEmpty(),
        settings.sendQueueDepth(),
        readsPerList(settings),
        settings.maxConnections(),
        mostInbound(settings),
        settings.connectTimeoutMs(),
        settings.fetchTimeoutMs(),
        settings.peerLostTimeoutMs(),
        DRAIN_TIMEOUT_MS,
        BREAKER_FAILURES,
        BREAKER_OPEN_MS,
        settings.connection(),
        new PoolSettings(
            pool.budgetBytes(),
            pool.slabBytes(),
            settings.hugePages(),
            settings.relaxedOrdering(),
            settings.poolIdleTimeoutMs(),
            SlabMemory.OF_PROCESS));
  }

  /** The same with other fetch buffers, and another patience. */
  public TransportSettings with(PoolSettings otherPool, int otherProgressTimeoutMs) {
    return new TransportSettings(
        bindAddress,
        usesOneOfSeveralRails,
        sendQueueDepth,
        readsPerList,
        maxConnections,
        maxInboundConnections,
        connectTimeoutMs,
        otherProgressTimeoutMs,
        peerLostTimeoutMs,
        drainTimeoutMs,
        breakerFailures,
        breakerOpenMs,
        connection,
        otherPool);
  }

  private static int readsPerList(RdmaSettings settings) {
    return Math.min(READS_PER_LIST, settings.sendQueueDepth());
  }

  private static int mostInbound(RdmaSettings settings) {
    return Math.max(LEAST_INBOUND_LIMIT, settings.maxConnections());
  }

  /**
   * Returns the most bytes that the queues of a transport with these settings take, as {@link RdmaTransport#queueBytes}
   * counts them.
   */
  public static long mostQueueBytes(RdmaSettings settings) {
    QueueDepths depths = new QueueDepths(settings.sendQueueDepth(), readsPerList(settings));
    return QueueBytes.ofSystem().most(depths, settings.maxConnections(), mostInbound(settings));
  }

  /** The settings of a transport that peers read from and that reads from nobody. */
  public static TransportSettings serving(RdmaSettings settings, InetAddress address) {
    TransportSettings reading = of(settings, SERVING_POOL_BYTES, address);
    return new TransportSettings(
        reading.bindAddress,
        reading.usesOneOfSeveralRails,
        1,
        1,
        1,
        reading.maxInboundConnections,
        reading.connectTimeoutMs,
        reading.progressTimeoutMs,
        reading.peerLostTimeoutMs,
        reading.drainTimeoutMs,
        reading.breakerFailures,
        reading.breakerOpenMs,
        reading.connection,
        reading.pool);
  }
}
