/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.metrics.TcpReason;

/** The blocks that a task could not read so far. Used by one thread at a time. */
final class LeftBlocks {
  private final List<LeftBlock> blocks = new ArrayList<>();
  private final FetchStats stats;
  private final TaskTimes times;
  private long added;

  /** Until when the time of attempts has been counted, in {@link System#nanoTime}. */
  private OptionalLong countedUntilNs = OptionalLong.empty();

  LeftBlocks(FetchStats stats, TaskTimes times) {
    this.stats = stats;
    this.times = times;
  }

  /** Leaves a block that has been taken from its peer's. */
  void add(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {
    peer.triedSinceNs(block).ifPresent(this::countTime);
    peer.resolve(block, null);
    peer.endPieces(block);
    blocks.add(new LeftBlock(peer, block, reason, cause));
    added++;
  }

  /** Blocks are tried side by side: the task has lost the time of all of them once. */
  private void countTime(long sinceNs) {
    long nowNs = System.nanoTime();
    stats.fallbackTimes.record(nowNs - sinceNs);
    long uncountedNs = nowNs - countedUntilNs.orElse(sinceNs);
    times.add(TaskTime.FALLBACK, Math.min(nowNs - sinceNs, uncountedNs));
    countedUntilNs = OptionalLong.of(nowNs);
  }

  /** Leaves a block that is still to be posted. */
  void drop(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {
    peer.drop(block);
    add(peer, block, reason, cause);
  }

  /** Leaves all blocks of a peer that are still to be posted or staged. */
  void addAll(PeerBlocks peer, TcpReason reason, Throwable cause) {
    while (peer.hasMore()) {
      add(peer, peer.take(), reason, cause);
    }
    addAllToStage(peer, reason, cause);
  }

  /** Leaves all blocks of a peer that are still to be staged. */
  void addAllToStage(PeerBlocks peer, TcpReason reason, Throwable cause) {
    while (peer.hasMoreToStage()) {
      add(peer, peer.takeToStage(), reason, cause);
    }
  }

  /** How many have been added, also those that were taken out. */
  long added() {
    return added;
  }

  List<LeftBlock> blocks() {
    return blocks;
  }
}
