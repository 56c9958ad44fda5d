/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.shufflerdma.connection.PeerReadTime;
import org.shufflerdma.metrics.LatencyHistogram;

/**
 * Where the time of one executor goes: the histogram of each phase under its public name, for the metrics
 * system and the log. docs/metrics.md says what each one times. Any thread may call.
 */
final class ExecutorTimes {
  private static final String PREFIX = "shuffle.rdma.time.";

  /** As many peers as a person looks at. */
  private static final int SLOWEST_PEERS = 3;

  /** A peer of which fewer lists have been read may have been slow by chance. */
  private static final long MIN_LISTS = 16;

  /** What is timed. The switch is there for the reason that {@link ExecutorCounts} gives. */
  enum Phase {
    CONNECT("connect"),
    CONNECTION("connection"),
    SHORT_READ("read.to64KiB"),
    MEDIUM_READ("read.to1MiB"),
    LONG_READ("read.over1MiB"),
    SEND_QUEUE("sendQueue"),
    POOL("pool"),
    CHECKSUM("checksum"),
    FALLBACK("fallback"),
    STAGING("staging"),
    STAGING_FILE("stagingFile"),
    REGISTRATION("registration"),
    PUBLICATION("publication");

    private final String publicName;

    Phase(String name) {
      this.publicName = PREFIX + name;
    }

    String publicName() {
      return publicName;
    }

    private LatencyHistogram of(RdmaStack rdma) {
      return switch (this) {
        case CONNECT -> rdma.transport().stats().connectTimes;
        case CONNECTION -> rdma.transport().stats().connectionWaits;
        case SHORT_READ -> rdma.transport().stats().shortReadTimes;
        case MEDIUM_READ -> rdma.transport().stats().mediumReadTimes;
        case LONG_READ -> rdma.transport().stats().longReadTimes;
        case SEND_QUEUE -> rdma.transport().stats().sendQueueWaits;
        case POOL -> rdma.transport().buffers().waits();
        case CHECKSUM -> rdma.source().fetcher().stats().checksumTimes;
        case FALLBACK -> rdma.source().fetcher().stats().fallbackTimes;
        case STAGING -> rdma.staging().clients().replyTimes();
        case STAGING_FILE -> rdma.staging().stats().fileTimes;
        case REGISTRATION -> rdma.registry().registrationTimes();
        case PUBLICATION -> rdma.publisher().times();
      };
    }
  }

  /** What is told of each phase. */
  enum Figure {
    COUNT("count"),
    TOTAL("totalMicros"),
    P50("p50Micros"),
    P99("p99Micros"),
    MAX("maxMicros");

    private final String suffix;

    Figure(String suffix) {
      this.suffix = suffix;
    }

    String suffix() {
      return suffix;
    }

    private long of(LatencyHistogram times) {
      return switch (this) {
        case COUNT -> times.count();
        case TOTAL -> TimeUnit.NANOSECONDS.toMicros(times.totalNs());
        case P50 -> TimeUnit.NANOSECONDS.toMicros(times.quantileNs(0.5));
        case P99 -> TimeUnit.NANOSECONDS.toMicros(times.quantileNs(0.99));
        case MAX -> TimeUnit.NANOSECONDS.toMicros(times.maxNs());
      };
    }
  }

  private final RdmaStack rdma;

  ExecutorTimes(RdmaStack rdma) {
    this.rdma = rdma;
  }

  void addGauges(Map<String, LongSupplier> gauges) {
    for (Phase phase : Phase.values()) {
      for (Figure figure : Figure.values()) {
        String name = phase.publicName() + "." + figure.suffix();
        gauges.put(name, () -> figure.of(phase.of(rdma)));
      }
    }
  }

  /** Returns a line for each phase that has happened, and one of the slowest peers. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    for (Phase phase : Phase.values()) {
      LatencyHistogram times = phase.of(rdma);
      if (times.count() > 0) {
        lines.add(phase.publicName() + ": " + times);
      }
    }
    List<String> slowest = rdma.transport().connections().readTimes().stream()
        .filter(peer -> peer.lists() >= MIN_LISTS)
        .sorted(Comparator.comparingLong(PeerReadTime::meanNs).reversed())
        .limit(SLOWEST_PEERS)
        .map(ExecutorTimes::describe)
        .toList();
    if (slowest.size() > 1) { // a single peer is not slow beside others
      lines.add("peers whose READs took longest: " + String.join("; ", slowest));
    }
    return lines;
  }

  private static String describe(PeerReadTime peer) {
    return String.format(
        Locale.ROOT,
        "%s %d lists, mean %d us",
        peer.peer(),
        peer.lists(),
        TimeUnit.NANOSECONDS.toMicros(peer.meanNs()));
  }
}
