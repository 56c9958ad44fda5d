/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.shufflerdma.control.ProtocolException;

/**
 * Says what a server has staged for a request, and where. The ranges stand one after the other, in the order of
 * the request. Those at its end that did not fit have no entry. Only the first may be staged in part, and then
 * fills what was asked for. A reply without entries says that the request waits for memory; another one follows.
 *
 * <pre>
 *   | request id (8) | wait (4) | address (8) | key (4) | entries (4) |
 *   then for each entry, 20 bytes:
 *   | status (4) | bytes of the partitions (8) | bytes staged (4) | CRC32C of these (4) |
 * </pre>
 *
 * @param waitMs how long the request probably waits, if it does; else more than 0 if others wait for memory
 * @param address of the first staged byte in the server's memory, and the key of it
 */
record StageReply(long id, int waitMs, long address, int rkey, List<Entry> entries) {
  private static final int HEADER_BYTES = 28;
  private static final int ENTRY_BYTES = 20;
  static final int MAX_BYTES = HEADER_BYTES + StageRequest.MAX_RANGES * ENTRY_BYTES;

  private static final int STAGED = 0;
  private static final int REFUSED = 1;

  /**
   * The outcome of one range.
   *
   * @param lengthBytes of the partitions, from their first byte
   * @param stagedBytes from the first byte that was asked for
   */
  record Entry(boolean isStaged, long lengthBytes, int stagedBytes, int checksum) {
    static Entry refused() {
      return new Entry(false, 0, 0, 0);
    }
  }

  static StageReply waiting(long id, int waitMs) {
    return new StageReply(id, Math.max(1, waitMs), 0, 0, List.of());
  }

  /** Nothing of the request can be staged. */
  static StageReply refused(StageRequest request) {
    return new StageReply(
        request.id(), 0, 0, 0, Collections.nCopies(request.ranges().size(), Entry.refused()));
  }

  boolean isWaiting() {
    return entries.isEmpty();
  }

  ByteBuffer encode() {
    ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + entries.size() * ENTRY_BYTES);
    out.putLong(id).putInt(waitMs).putLong(address).putInt(rkey).putInt(entries.size());
    for (Entry entry : entries) {
      out.putInt(entry.isStaged() ? STAGED : REFUSED)
          .putLong(entry.lengthBytes())
          .putInt(entry.stagedBytes())
          .putInt(entry.checksum());
    }
    return out.flip();
  }

  static StageReply decode(ByteBuffer in) throws ProtocolException {
    if (in.remaining() < HEADER_BYTES) {
      throw new ProtocolException("a reply of " + in.remaining() + " bytes");
    }
    long id = in.getLong();
    int waitMs = in.getInt();
    long address = in.getLong();
    int rkey = in.getInt();
    int count = in.getInt();
    if (count < 0 || count > StageRequest.MAX_RANGES || in.remaining() != count * ENTRY_BYTES) {
      throw new ProtocolException(
          "a reply of " + count + " entries with " + in.remaining() + " bytes of them");
    }
    if (waitMs < 0) {
      throw new ProtocolException("a wait of " + waitMs + " ms");
    }
    List<Entry> entries = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      entries.add(new Entry(in.getInt() == STAGED, in.getLong(), in.getInt(), in.getInt()));
    }
    return new StageReply(id, waitMs, address, rkey, entries);
  }
}
