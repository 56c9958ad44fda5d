/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The bytes of a partition that are in memory: encoded pieces, and a tail of serialized bytes that grows with what is written
 * until it can be encoded. It holds nothing until something is written. Not thread-safe; its task may have
 * it spilled while it asks for memory.
 */
final class PartitionBuffer extends OutputStream {
  private static final int FIRST_BYTES = 512;
  private static final byte[] NONE = new byte[0];

  private final PartitionBuffers owner;
  private final List<byte[]> encoded = new ArrayList<>(0);

  private byte[] tail = NONE;
  private int used;

  PartitionBuffer(PartitionBuffers owner) {
    this.owner = owner;
  }

  @Override
  public void write(int value) throws IOException {
    if (used == tail.length) {
      makeRoom(1);
    }
    tail[used++] = (byte) value;
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    int from = offset;
    int left = length;
    while (left > 0) {
      if (used == tail.length) {
        makeRoom(left);
      }
      int count = Math.min(left, tail.length - used);
      System.arraycopy(bytes, from, tail, used, count);
      used += count;
      from += count;
      left -= count;
    }
  }

  /** Lets the full tail grow, or encodes it. Asks for memory when everything is in its place again. */
  private void makeRoom(int more) throws IOException {
    int most = owner.encoding().mostBytes();
    if (tail.length < most) {
      int before = tail.length;
      int wanted = Math.max(Math.max(FIRST_BYTES, 2 * before), before + Math.min(more, most));
      tail = Arrays.copyOf(tail, Math.min(most, wanted));
      owner.grew(tail.length - before);
    } else {
      owner.grew(encodeTail());
    }
    if (tail.length == 0) { // spilled
      makeRoom(more);
    }
  }

  /** Returns how many bytes that has added. */
  private int encodeTail() throws IOException {
    Pieces pieces = new Pieces();
    owner.encoding().encode(tail, used, pieces);
    used = 0;
    return pieces.lengthBytes;
  }

  /** Keeps what is written to it. */
  private final class Pieces extends OutputStream {
    private int lengthBytes;

    @Override
    public void write(int value) {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      encoded.add(Arrays.copyOfRange(bytes, offset, offset + length));
      lengthBytes += length;
    }
  }

  boolean isEmpty() {
    return used == 0 && encoded.isEmpty();
  }

  /** Moves what is here to a stream in its encoded form, and holds nothing afterwards. */
  void moveTo(OutputStream out) throws IOException {
    for (byte[] piece : encoded) {
      out.write(piece, 0, piece.length);
    }
    encoded.clear();
    if (used > 0) {
      owner.encoding().encode(tail, used, out);
    }
    tail = NONE;
    used = 0;
  }
}
