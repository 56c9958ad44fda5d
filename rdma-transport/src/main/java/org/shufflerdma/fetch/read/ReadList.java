/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.read;

import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.connection.Read;

/**
 * The chained READs that fill one buffer, or a part of it. Adjacent ranges of the owner's memory share a READ, and a long one has as
 * many as it needs. One thread uses it.
 */
public final class ReadList {
  private final List<Read> reads = new ArrayList<>();
  private final long startOffset;
  private long lengthBytes;

  /** An empty list whose first byte comes to {@code startOffset} in the buffer. */
  public ReadList(long startOffset) {
    this.startOffset = startOffset;
  }

  /**
   * Appends a range, or returns false if it does not fit the limits together with those that are there.
   *
   * @throws IllegalArgumentException if the range is empty
   */
  public boolean add(long remoteAddress, int rkey, long rangeBytes, ReadLimits limits) {
    if (rangeBytes <= 0) {
      throw new IllegalArgumentException("a range of " + rangeBytes + " bytes");
    }
    if (!reads.isEmpty() && lengthBytes + rangeBytes > limits.sharedBufferBytes()) {
      return false;
    }
    if (!widenLast(remoteAddress, rkey, rangeBytes, limits.maxReadBytes())) {
      long needed = 1 + (rangeBytes - 1) / limits.maxReadBytes();
      if (reads.size() + needed > limits.maxReads()) {
        return false;
      }
      for (long done = 0; done < rangeBytes; done += limits.maxReadBytes()) {
        int length = (int) Math.min(limits.maxReadBytes(), rangeBytes - done);
        reads.add(new Read(remoteAddress + done, rkey, length, startOffset + lengthBytes + done));
      }
    }
    lengthBytes += rangeBytes;
    return true;
  }

  private boolean widenLast(long remoteAddress, int rkey, long rangeBytes, int maxReadBytes) {
    if (reads.isEmpty()) {
      return false;
    }
    Read last = reads.get(reads.size() - 1);
    if (last.rkey() != rkey
        || last.remoteAddress() + last.lengthBytes() != remoteAddress
        || last.lengthBytes() + rangeBytes > maxReadBytes) {
      return false;
    }
    int widened = last.lengthBytes() + (int) rangeBytes;
    reads.set(reads.size() - 1, new Read(last.remoteAddress(), rkey, widened, last.sinkOffset()));
    return true;
  }

  public List<Read> reads() {
    return reads;
  }

  /** The bytes of all ranges. */
  public long lengthBytes() {
    return lengthBytes;
  }

  /** Whether the READ brings a byte of {@code [startOffset, endOffset)} of the buffer. */
  public boolean brings(int read, long startOffset, long endOffset) {
    Read one = reads.get(read);
    return startOffset < one.sinkOffset() + one.lengthBytes() && one.sinkOffset() < endOffset;
  }
}
