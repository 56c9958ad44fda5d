/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.control.ProtocolException;

/**
 * Asks a server to read ranges into a chunk, one after the other, as far as they fit.
 *
 * <pre>
 *   | request id (8) | chunk (4) | most bytes (4) | ranges (4) |
 *   then for each range, 28 bytes:
 *   | shuffle id (4) | map id (8) | start partition (4) | end partition (4) | from byte (8) |
 * </pre>
 *
 * @param id the client's number for it
 * @param maxBytes that are wanted in the chunk at most
 */
record StageRequest(long id, int chunk, int maxBytes, List<StagedRange> ranges) {
  static final int MAX_RANGES = 256;
  private static final int HEADER_BYTES = 20;
  private static final int RANGE_BYTES = 28;
  static final int MAX_BYTES = HEADER_BYTES + MAX_RANGES * RANGE_BYTES;

  ByteBuffer encode() {
    ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + ranges.size() * RANGE_BYTES);
    out.putLong(id).putInt(chunk).putInt(maxBytes).putInt(ranges.size());
    for (StagedRange range : ranges) {
      out.putInt(range.shuffleId())
          .putLong(range.mapId())
          .putInt(range.startPartition())
          .putInt(range.endPartition())
          .putLong(range.fromByte());
    }
    return out.flip();
  }

  static StageRequest decode(ByteBuffer in) throws ProtocolException {
    if (in.remaining() < HEADER_BYTES) {
      throw new ProtocolException("a request of " + in.remaining() + " bytes");
    }
    long id = in.getLong();
    int chunk = in.getInt();
    int maxBytes = in.getInt();
    int count = in.getInt();
    if (count < 1 || count > MAX_RANGES || in.remaining() != count * RANGE_BYTES) {
      throw new ProtocolException(
          "a request for " + count + " ranges with " + in.remaining() + " bytes of them");
    }
    if (maxBytes <= 0) {
      throw new ProtocolException("a request for at most " + maxBytes + " bytes");
    }
    List<StagedRange> ranges = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      try {
        ranges.add(
            new StagedRange(in.getInt(), in.getLong(), in.getInt(), in.getInt(), in.getLong()));
      } catch (IllegalArgumentException e) {
        throw new ProtocolException("a request for " + e.getMessage());
      }
    }
    return new StageRequest(id, chunk, maxBytes, ranges);
  }
}
