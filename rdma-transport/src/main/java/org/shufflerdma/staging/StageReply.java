/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.control.ProtocolException;

/**
 * Says what a server has staged for a request, and where. The ranges stand one after the other, in the order of
 * the request. Those at its end that did not fit have no entry. Only the first may be staged in part, and then
 * fills what was asked for. A reply without entries says that the request waits for memory; another one follows.
 *
 * <pre>
 *   | request id (8) | wait (4) | address (8) | key (4) | entries (4) |
 *   then for each entry, 20 or 44 bytes:
 *   | status (4) | bytes of the partitions (8) | bytes staged (4) | CRC32C of these (4) |
 *   and if the status says that the map output is registered by now:
 *   | address of its descriptor (8) | key (4) | generation (8) | partitions (4) |
 * </pre>
 *
 * @param waitMs how long the request probably waits, if it does; else more than 0 if others wait for memory
 * @param address of the first staged byte in the server's memory, and the key of it
 */
record StageReply(long id, int waitMs, long address, int rkey, List<Entry> entries) {
  private static final int HEADER_BYTES = 28;
  private static final int ENTRY_BYTES = 20;
  private static final int REGISTERED_BYTES = 24;
  static final int MAX_BYTES =
      HEADER_BYTES + StageRequest.MAX_RANGES * (ENTRY_BYTES + REGISTERED_BYTES);

  private static final int STAGED = 0;
  private static final int REFUSED = 1;
  private static final int STAGED_AND_REGISTERED = 2;

  /**
   * The outcome of one range.
   *
   * @param lengthBytes of the partitions, from their first byte
   * @param stagedBytes from the first byte that was asked for
   * @param registered where the map output can be read in future; null if it must be staged. Only of what is staged
   */
  record Entry(
      boolean isStaged,
      long lengthBytes,
      int stagedBytes,
      int checksum,
      @Nullable RegisteredOutput registered) {
    static Entry refused() {
      return new Entry(false, 0, 0, 0, null);
    }

    private int sizeBytes() {
      return ENTRY_BYTES + (registered == null ? 0 : REGISTERED_BYTES);
    }

    private int status() {
      if (!isStaged) {
        return REFUSED;
      }
      return registered == null ? STAGED : STAGED_AND_REGISTERED;
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
    int entryBytes = entries.stream().mapToInt(Entry::sizeBytes).sum();
    ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + entryBytes);
    out.putLong(id).putInt(waitMs).putLong(address).putInt(rkey).putInt(entries.size());
    for (Entry entry : entries) {
      out.putInt(entry.status())
          .putLong(entry.lengthBytes())
          .putInt(entry.stagedBytes())
          .putInt(entry.checksum());
      RegisteredOutput at = entry.registered();
      if (at != null) {
        out.putLong(at.address())
            .putInt(at.rkey())
            .putLong(at.generation())
            .putInt(at.partitions());
      }
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
    if (count < 0 || count > StageRequest.MAX_RANGES || in.remaining() < count * ENTRY_BYTES) {
      throw new ProtocolException(
          "a reply of " + count + " entries with " + in.remaining() + " bytes of them");
    }
    if (waitMs < 0) {
      throw new ProtocolException("a wait of " + waitMs + " ms");
    }
    List<Entry> entries = new ArrayList<>(count);
    try {
      for (int i = 0; i < count; i++) {
        entries.add(decodeEntry(in));
      }
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new ProtocolException("a reply with a wrong entry: " + e);
    }
    if (in.hasRemaining()) {
      throw new ProtocolException("a reply with " + in.remaining() + " bytes too many");
    }
    return new StageReply(id, waitMs, address, rkey, entries);
  }

  private static Entry decodeEntry(ByteBuffer in) {
    int status = in.getInt();
    if (status < STAGED || status > STAGED_AND_REGISTERED) {
      throw new IllegalArgumentException("status " + status);
    }
    return new Entry(
        status != REFUSED,
        in.getLong(),
        in.getInt(),
        in.getInt(),
        status == STAGED_AND_REGISTERED
            ? new RegisteredOutput(in.getLong(), in.getInt(), in.getLong(), in.getInt())
            : null);
  }
}
