/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.control.ProtocolException;

/**
 * Returns loans to a server, and asks it to read ranges into memory that it lends, one after the other, as far
 * as they fit. A frame without ranges returns loans and asks for nothing.
 *
 * <pre>
 *   | request id (8) | most bytes (4) | loans returned (4) | ranges (4) |
 *   then the id of the request (8) for each loan that is returned,
 *   then for each range, 30 bytes and the name:
 *   | shuffle id (4) | map id (8) | start partition (4) | end partition (4) | from byte (8) |
 *   | bytes of the name of its folder (2), 0 for an output of Spark's | name, in ASCII |
 * </pre>
 *
 * @param id the client's number for it, which none of its requests under way has
 * @param maxBytes that are wanted at most
 * @param returned the requests whose loans are read no more, or which are wanted no more
 */
record StageRequest(long id, int maxBytes, List<Long> returned, List<StagedRange> ranges) {
  static final int MAX_RANGES = 256;
  private static final int HEADER_BYTES = 20;
  private static final int RANGE_BYTES = 30;
  static final int MAX_BYTES = HEADER_BYTES
      + StagingTerms.MAX_REQUESTS * Long.BYTES
      + MAX_RANGES * (RANGE_BYTES + OutputName.MAX_FOLDER_CHARS);

  static StageRequest returning(List<Long> loans) {
    return new StageRequest(0, 1, loans, List.of());
  }

  boolean asks() {
    return !ranges.isEmpty();
  }

  ByteBuffer encode() {
    int namesBytes =
        ranges.stream().mapToInt(range -> range.output().folder().length()).sum();
    ByteBuffer out = ByteBuffer.allocate(
        HEADER_BYTES + returned.size() * Long.BYTES + ranges.size() * RANGE_BYTES + namesBytes);
    out.putLong(id).putInt(maxBytes).putInt(returned.size()).putInt(ranges.size());
    returned.forEach(out::putLong);
    for (StagedRange range : ranges) {
      OutputName output = range.output();
      out.putInt(output.shuffleId())
          .putLong(output.mapId())
          .putInt(range.startPartition())
          .putInt(range.endPartition())
          .putLong(range.fromByte())
          .putShort((short) output.folder().length())
          .put(output.folder().getBytes(StandardCharsets.US_ASCII));
    }
    return out.flip();
  }

  static StageRequest decode(ByteBuffer in) throws ProtocolException {
    if (in.remaining() < HEADER_BYTES) {
      throw new ProtocolException("a request of " + in.remaining() + " bytes");
    }
    long id = in.getLong();
    int maxBytes = in.getInt();
    int returns = in.getInt();
    int count = in.getInt();
    if (returns < 0
        || returns > StagingTerms.MAX_REQUESTS
        || count < 0
        || count > MAX_RANGES
        || in.remaining() < returns * Long.BYTES + count * RANGE_BYTES) {
      throw new ProtocolException("a request for %d ranges that returns %d loans, with %d bytes"
          .formatted(count, returns, in.remaining()));
    }
    if (maxBytes <= 0) {
      throw new ProtocolException("a request for at most " + maxBytes + " bytes");
    }
    List<Long> returned = new ArrayList<>(returns);
    for (int i = 0; i < returns; i++) {
      returned.add(in.getLong());
    }
    List<StagedRange> ranges = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      try {
        ranges.add(decodeRange(in));
      } catch (IllegalArgumentException | BufferUnderflowException e) {
        throw new ProtocolException("a request for " + e.getMessage());
      }
    }
    if (in.hasRemaining()) {
      throw new ProtocolException("a request with " + in.remaining() + " bytes too many");
    }
    return new StageRequest(id, maxBytes, returned, ranges);
  }

  private static StagedRange decodeRange(ByteBuffer in) {
    int shuffleId = in.getInt();
    long mapId = in.getLong();
    int startPartition = in.getInt();
    int endPartition = in.getInt();
    long fromByte = in.getLong();
    byte[] folder = new byte[Short.toUnsignedInt(in.getShort())];
    in.get(folder);
    return new StagedRange(
        new OutputName(shuffleId, mapId, new String(folder, StandardCharsets.US_ASCII)),
        startPartition,
        endPartition,
        fromByte);
  }
}
