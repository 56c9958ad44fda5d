/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.connection.Read;

/**
 * Plans the READs of a number of remote ranges. Small ranges share a buffer and a chained list,
 * adjacent ranges share a READ, and a large range has a buffer of its own and as many READs as its
 * length needs.
 */
final class ReadPlan {
  /** A remote range. {@code item} is the caller's number for it. */
  record Extent(int item, long remoteAddress, int rkey, long lengthBytes) {}

  /** The place of an extent in its buffer. */
  record Placement(int item, long bufferOffset, long lengthBytes) {}

  /** One buffer and the chained READs that fill it. */
  record ReadList(long bufferBytes, List<Read> reads, List<Placement> placements) {
    /** Returns the items that have a byte in the given READ. */
    List<Integer> itemsOf(int readIndex) {
      Read read = reads.get(readIndex);
      long start = read.sinkOffset();
      long end = start + read.lengthBytes();
      return placements.stream()
          .filter(p -> p.bufferOffset() < end && start < p.bufferOffset() + p.lengthBytes())
          .map(Placement::item)
          .toList();
    }
  }

  /**
   * The limits of a list.
   *
   * @param maxReads the most READs in one chain
   * @param maxReadBytes the most bytes of one READ
   * @param sharedBufferBytes the most bytes of a buffer that several ranges share; the last reader
   *     would hold a larger one for too long
   */
  record Limits(int maxReads, int maxReadBytes, int sharedBufferBytes) {}

  private final Limits limits;
  private final List<ReadList> lists = new ArrayList<>();

  private List<Read> reads = new ArrayList<>();
  private List<Placement> placements = new ArrayList<>();
  private long bufferBytes;
  private long lastRemoteEnd;

  private ReadPlan(Limits limits) {
    this.limits = limits;
  }

  /**
   * Plans the READs of the extents in the given order; no extent may be empty.
   *
   * @throws IllegalArgumentException if one needs more READs than a list may have
   */
  static List<ReadList> of(List<Extent> extents, Limits limits) {
    ReadPlan plan = new ReadPlan(limits);
    for (Extent extent : extents) {
      plan.add(extent);
    }
    plan.finishList();
    return plan.lists;
  }

  private void add(Extent extent) {
    long needed = (extent.lengthBytes() + limits.maxReadBytes() - 1) / limits.maxReadBytes();
    if (extent.lengthBytes() <= 0 || needed > limits.maxReads()) {
      throw new IllegalArgumentException(extent + " does not fit into one list of READs");
    }
    if (bufferBytes > 0 && bufferBytes + extent.lengthBytes() > limits.sharedBufferBytes()) {
      finishList();
    }
    if (!merge(extent)) {
      if (reads.size() + needed > limits.maxReads()) {
        finishList();
      }
      append(extent);
    }
    placements.add(new Placement(extent.item(), bufferBytes, extent.lengthBytes()));
    bufferBytes += extent.lengthBytes();
    lastRemoteEnd = extent.remoteAddress() + extent.lengthBytes();
  }

  private boolean merge(Extent extent) {
    if (reads.isEmpty() || extent.remoteAddress() != lastRemoteEnd) {
      return false;
    }
    int lastIndex = reads.size() - 1;
    Read last = reads.get(lastIndex);
    if (last.rkey() != extent.rkey()
        || last.lengthBytes() + extent.lengthBytes() > limits.maxReadBytes()) {
      return false;
    }
    int merged = last.lengthBytes() + (int) extent.lengthBytes();
    reads.set(lastIndex, new Read(last.remoteAddress(), last.rkey(), merged, last.sinkOffset()));
    return true;
  }

  private void append(Extent extent) {
    long done = 0;
    while (done < extent.lengthBytes()) {
      int length = (int) Math.min(limits.maxReadBytes(), extent.lengthBytes() - done);
      reads.add(new Read(extent.remoteAddress() + done, extent.rkey(), length, bufferBytes + done));
      done += length;
    }
  }

  private void finishList() {
    if (!reads.isEmpty()) {
      lists.add(new ReadList(bufferBytes, reads, placements));
      reads = new ArrayList<>();
      placements = new ArrayList<>();
      bufferBytes = 0;
    }
  }
}
