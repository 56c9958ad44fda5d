/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The lists of READs that a task has in flight, within its limits. Used by one thread at a time. */
final class ReadWindow {
  /** The lists that are read while the task consumes one. */
  private static final int LISTS_AHEAD = 2;

  /**
   * A list still in flight after so long keeps no others waiting: its peer may be in trouble. Nor does one that
   * waits for memory of its owner.
   */
  private static final long SLOW_NS = TimeUnit.MILLISECONDS.toNanos(100);

  private final DirectFetch.Limits limits;
  private final LongSupplier shareBytes;
  private final Runnable poll;
  private final Deque<ReadSlot> slots = new ArrayDeque<>();
  private long bytes;

  /**
   * @param shareBytes limits what one list has, unless one block alone is larger
   * @param poll tells the outcomes of lists that have completed
   */
  ReadWindow(DirectFetch.Limits limits, LongSupplier shareBytes, Runnable poll) {
    this.limits = limits;
    this.shareBytes = shareBytes;
    this.poll = poll;
  }

  boolean isEmpty() {
    return slots.isEmpty();
  }

  /** Whether one more list may be posted. */
  boolean isOpen() {
    if (slots.size() < LISTS_AHEAD || slots.size() >= limits.maxListsInFlight()) {
      return slots.size() < limits.maxListsInFlight();
    }
    if (listsNotSlow() >= LISTS_AHEAD) {
      return false;
    }
    poll.run(); // a task that was busy for long has not noticed what has completed meanwhile
    return listsNotSlow() < LISTS_AHEAD;
  }

  private long listsNotSlow() {
    long thenNs = System.nanoTime() - SLOW_NS;
    return slots.stream()
        .filter(slot ->
            slot.isTold() || !(slot.wasPostedBefore(thenNs) || slot.waitsForMemoryOfOwner()))
        .count();
  }

  /** How many blocks a list of the peer may have. */
  int blocksOf(PeerBlocks peer) {
    return Math.max(0, limits.maxBlocksPerPeer() - peer.blocksInFlight);
  }

  /** Whether a block may be added to a list; a block alone always may. */
  boolean admits(ReadSlot slot, long moreBytes) {
    return (slot.blocks() == 0 && slots.isEmpty())
        || (bytes + slot.totalBytes() + moreBytes <= limits.maxBytesInFlight()
            && slot.totalBytes() + moreBytes <= shareBytes.getAsLong());
  }

  /** How many bytes one list may have, unless one block alone is larger. */
  int bytesOfAList(int most) {
    return (int) Math.max(1, Math.min(most, shareBytes.getAsLong()));
  }

  /** The slot has been posted, or asked for. */
  void add(ReadSlot slot) {
    slots.add(slot);
    bytes += slot.bytesInFlight();
    slot.peer.blocksInFlight += slot.blocksInFlight();
  }

  /** Takes out a slot whose outcome has been told; null if there is none. */
  @Nullable
  ReadSlot takeTold() {
    for (Iterator<ReadSlot> each = slots.iterator(); each.hasNext(); ) {
      ReadSlot slot = each.next();
      if (slot.isTold()) {
        each.remove();
        hasLeft(slot);
        return slot;
      }
    }
    return null;
  }

  /** Whether a slot may count for so many bytes more; one always may while none has a buffer. */
  boolean admitsGrowth(long moreBytes) {
    return !holdsBuffers() || bytes + moreBytes <= limits.maxBytesInFlight();
  }

  /** The slot counts for so many bytes more from now on. */
  void grow(StagedSlot slot, long moreBytes) {
    slot.grow(moreBytes);
    bytes += moreBytes;
  }

  /** Takes out a slot of which nothing comes. */
  void remove(ReadSlot slot) {
    if (slots.remove(slot)) {
      hasLeft(slot);
    }
  }

  private void hasLeft(ReadSlot slot) {
    bytes -= slot.bytesInFlight();
    slot.peer.blocksInFlight -= slot.blocksInFlight();
  }

  /** Whether the task has something to do for one of the slots. */
  boolean hasReady() {
    return slots.stream().anyMatch(ReadSlot::isReady);
  }

  /** Whether nothing can come before an owner has staged something. */
  boolean awaitsOwners() {
    return slots.stream().allMatch(ReadSlot::needsOwner);
  }

  boolean holdsBuffers() {
    return slots.stream().anyMatch(ReadSlot::hasBuffer);
  }

  /** The slots that are being staged; those of which nothing comes may be removed meanwhile. */
  List<StagedSlot> staged() {
    return slots.stream()
        .filter(StagedSlot.class::isInstance)
        .map(StagedSlot.class::cast)
        .toList();
  }

  /** Takes out slots that the caller gives up: only the device holds their buffers from then on. */
  List<ReadSlot> take(Predicate<ReadSlot> which) {
    List<ReadSlot> taken = slots.stream().filter(which).toList();
    taken.forEach(this::remove);
    return taken;
  }
}
