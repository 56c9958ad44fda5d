/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.PartitionRanges;

/**
 * The parts of a map output's descriptor that have been read and checked: the header, and the entries of ranges of
 * partitions. None of the ranges lies within another one. Immutable, safe for every thread.
 */
public final class KnownDescriptor {
  private final MapOutputDescriptor.Header header;
  private final ByteBuffer headerBytes;

  /** In the order in which they begin, and end. */
  private final List<PartitionRanges> ranges;

  private final Deadline lease;

  private KnownDescriptor(
      MapOutputDescriptor.Header header,
      ByteBuffer headerBytes,
      List<PartitionRanges> ranges,
      Deadline lease) {
    this.header = header;
    this.headerBytes = headerBytes;
    this.ranges = ranges;
    this.lease = lease;
  }

  /**
   * A descriptor of which no entry is known yet.
   *
   * @param headerBytes the bytes that were read and decoded to {@code header}; they are copied
   */
  public static KnownDescriptor of(
      MapOutputDescriptor.Header header, ByteBuffer headerBytes, Deadline lease) {
    ByteBuffer copy = ByteBuffer.allocate(MapOutputDescriptor.HEADER_BYTES)
        .put(headerBytes.slice(headerBytes.position(), MapOutputDescriptor.HEADER_BYTES))
        .flip();
    return new KnownDescriptor(header, copy, List.of(), lease);
  }

  /** Whether the owner's memory still holds the header from which this was decoded. */
  public boolean hasHeader(ByteBuffer bytes) {
    return headerBytes.equals(bytes.slice(bytes.position(), MapOutputDescriptor.HEADER_BYTES));
  }

  /** The same knowledge, relied upon until {@code end}. */
  public KnownDescriptor renewed(Deadline end) {
    return new KnownDescriptor(header, headerBytes, ranges, end);
  }

  /** Adds the partitions {@code [start, end)}, whose entries begin at the position. */
  public KnownDescriptor withEntries(ByteBuffer entries, int start, int end)
      throws InvalidDescriptorException {
    PartitionRanges more = MapOutputDescriptor.decodeEntries(entries, header, start, end);
    return new KnownDescriptor(header, headerBytes, with(ranges, more), lease);
  }

  /** This with what {@code other} has in addition, if both are of one publication. */
  KnownDescriptor withRangesOf(KnownDescriptor other) {
    if (!headerBytes.equals(other.headerBytes)) {
      return this;
    }
    List<PartitionRanges> both = ranges;
    for (PartitionRanges range : other.ranges) {
      both = with(both, range);
    }
    return new KnownDescriptor(header, headerBytes, both, lease);
  }

  private static List<PartitionRanges> with(List<PartitionRanges> known, PartitionRanges more) {
    if (known.stream().anyMatch(range -> range.contains(more))) {
      return known;
    }
    return Stream.concat(known.stream().filter(range -> !more.contains(range)), Stream.of(more))
        .sorted(Comparator.comparingInt(PartitionRanges::startPartition))
        .toList();
  }

  public MapOutputDescriptor.Header header() {
    return header;
  }

  /** End of the time in which this is relied upon; the owner may withdraw the output any time. */
  public Deadline lease() {
    return lease;
  }

  int ranges() {
    return ranges.size();
  }

  /** The sum of the partitions of all ranges. */
  long partitions() {
    long sum = 0;
    for (PartitionRanges range : ranges) {
      sum += range.endPartition() - range.startPartition();
    }
    return sum;
  }

  /** Whether the entries of partitions {@code [start, end)} have been read. */
  public boolean covers(int start, int end) {
    int covered = start;
    while (covered < end) {
      PartitionRanges range = find(covered);
      if (range == null) {
        return false;
      }
      covered = range.endPartition();
    }
    return true;
  }

  /** Where the partition begins in the owner's memory. */
  public long remoteAddress(int partition) {
    return header.dataAddress() + range(partition).offset(partition);
  }

  /** The bytes of partitions {@code [start, end)}. */
  public long lengthBytes(int start, int end) {
    return range(end - 1).offset(end) - range(start).offset(start);
  }

  long lengthBytes(int partition) {
    return range(partition).lengthBytes(partition);
  }

  int checksum(int partition) {
    return range(partition).checksum(partition);
  }

  private PartitionRanges range(int partition) {
    PartitionRanges range = find(partition);
    if (range == null) {
      throw new IllegalStateException("the entry of partition " + partition + " was not read");
    }
    return range;
  }

  /** The last range that begins at the partition or before: no other one reaches farther. */
  private @Nullable PartitionRanges find(int partition) {
    int low = 0;
    int high = ranges.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ranges.get(middle).startPartition() <= partition) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    PartitionRanges last = low == 0 ? null : ranges.get(low - 1);
    return last == null || last.endPartition() <= partition ? null : last;
  }
}
