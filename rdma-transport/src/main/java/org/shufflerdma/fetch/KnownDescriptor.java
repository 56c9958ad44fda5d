/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.PartitionRanges;

/**
 * The parts of a map output's descriptor that have been read and checked: the header, and the entries
 * in windows of {@value #WINDOW_PARTITIONS} partitions. The tasks of an executor read neighbouring
 * partitions of the same map outputs, and a READ of a window costs hardly more than one of an entry.
 * Immutable, safe for every thread.
 */
final class KnownDescriptor {
  static final int WINDOW_PARTITIONS = 256;

  private final MapOutputDescriptor.Header header;
  private final ByteBuffer headerBytes;
  private final @Nullable PartitionRanges[] windows;
  private final Deadline lease;

  private KnownDescriptor(
      MapOutputDescriptor.Header header,
      ByteBuffer headerBytes,
      @Nullable PartitionRanges[] windows,
      Deadline lease) {
    this.header = header;
    this.headerBytes = headerBytes;
    this.windows = windows;
    this.lease = lease;
  }

  /**
   * A descriptor of which no entry is known yet.
   *
   * @param headerBytes the bytes that were read and decoded to {@code header}; they are copied
   */
  static KnownDescriptor of(
      MapOutputDescriptor.Header header, ByteBuffer headerBytes, Deadline lease) {
    ByteBuffer copy = ByteBuffer.allocate(MapOutputDescriptor.HEADER_BYTES)
        .put(headerBytes.slice(headerBytes.position(), MapOutputDescriptor.HEADER_BYTES))
        .flip();
    return new KnownDescriptor(
        header, copy, new PartitionRanges[windowOf(header.partitions() - 1) + 1], lease);
  }

  /** The first partition of the window that holds {@code partition}. */
  static int windowStart(int partition) {
    return windowOf(partition) * WINDOW_PARTITIONS;
  }

  /** The end of the window that ends at {@code endPartition} or holds it, exclusive. */
  static int windowEnd(int endPartition, int partitions) {
    return Math.min(windowStart(endPartition - 1) + WINDOW_PARTITIONS, partitions);
  }

  private static int windowOf(int partition) {
    return partition / WINDOW_PARTITIONS;
  }

  /** Whether the owner's memory still holds the header from which this was decoded. */
  boolean hasHeader(ByteBuffer bytes) {
    return headerBytes.equals(bytes.slice(bytes.position(), MapOutputDescriptor.HEADER_BYTES));
  }

  /** The same knowledge, relied upon until {@code end}. */
  KnownDescriptor renewed(Deadline end) {
    return new KnownDescriptor(header, headerBytes, windows, end);
  }

  /** Adds the windows of partitions {@code [start, end)}, whose entries begin at the position. */
  KnownDescriptor withEntries(ByteBuffer entries, int start, int end)
      throws InvalidDescriptorException {
    @Nullable PartitionRanges[] more = windows.clone();
    for (int at = start; at < end; at += WINDOW_PARTITIONS) {
      int windowEnd = windowEnd(at + 1, end);
      ByteBuffer window = entries.duplicate();
      window.position(
          entries.position() + Math.multiplyExact(at - start, MapOutputDescriptor.ENTRY_BYTES));
      more[windowOf(at)] = MapOutputDescriptor.decodeEntries(window, header, at, windowEnd);
    }
    return new KnownDescriptor(header, headerBytes, more, lease);
  }

  /** This with the windows that only {@code other} has, if both are of one publication. */
  KnownDescriptor withWindowsOf(KnownDescriptor other) {
    if (!headerBytes.equals(other.headerBytes)) {
      return this;
    }
    @Nullable PartitionRanges[] both = windows.clone();
    for (int i = 0; i < both.length; i++) {
      both[i] = both[i] == null ? other.windows[i] : both[i];
    }
    return new KnownDescriptor(header, headerBytes, both, lease);
  }

  MapOutputDescriptor.Header header() {
    return header;
  }

  /** End of the time in which this is relied upon; the owner may withdraw the output any time. */
  Deadline lease() {
    return lease;
  }

  /** How many windows there are, read or not. */
  int places() {
    return windows.length;
  }

  /** How many windows have been read. */
  int windows() {
    int known = 0;
    for (PartitionRanges window : windows) {
      known += window == null ? 0 : 1;
    }
    return known;
  }

  /** Whether the entries of partitions {@code [start, end)} have been read. */
  boolean covers(int start, int end) {
    for (int i = windowOf(start); i <= windowOf(end - 1); i++) {
      if (windows[i] == null) {
        return false;
      }
    }
    return true;
  }

  long remoteAddress(BlockRequest block) {
    return remoteAddress(block.startPartition());
  }

  /** Where the partition begins in the owner's memory. */
  long remoteAddress(int partition) {
    return header.dataAddress() + window(partition).offset(partition);
  }

  long lengthBytes(BlockRequest block) {
    return lengthBytes(block.startPartition(), block.endPartition());
  }

  /** The bytes of partitions {@code [start, end)}. */
  long lengthBytes(int start, int end) {
    return window(end - 1).offset(end) - window(start).offset(start);
  }

  long lengthBytes(int partition) {
    return window(partition).lengthBytes(partition);
  }

  int checksum(int partition) {
    return window(partition).checksum(partition);
  }

  BlockVerifier verifier(BlockRequest block) {
    return new BlockVerifier(this, block.startPartition(), block.endPartition());
  }

  private PartitionRanges window(int partition) {
    PartitionRanges window = windows[windowOf(partition)];
    if (window == null) {
      throw new IllegalStateException("the entry of partition " + partition + " was not read");
    }
    return window;
  }
}
