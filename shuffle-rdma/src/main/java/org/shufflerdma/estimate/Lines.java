/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** Reads lines into one buffer, which holds as much of a line as is allowed. One thread uses it; the stream is the caller's. */
final class Lines {
  private final InputStream in;
  private final int mostBytes;
  private final byte[] read = new byte[1 << 16];
  private int position;
  private int limit;
  private byte[] line = new byte[1 << 13];
  private int length;
  private boolean tooLong;
  private boolean ended;

  Lines(InputStream in, int mostBytes) {
    this.in = in;
    this.mostBytes = mostBytes;
  }

  /** Moves to the next line; false at the end of the stream. An exception leaves what came before it as a line. */
  boolean next() throws IOException {
    length = 0;
    tooLong = false;
    ended = false;
    while (!ended) {
      if (position == limit) {
        position = 0;
        limit = 0; // in case of an exception
        limit = Math.max(0, in.read(read));
        if (limit == 0) {
          return length > 0;
        }
      }
      int from = position;
      while (position < limit && read[position] != '\n') {
        position++;
      }
      append(from, position - from);
      if (position < limit) {
        position++;
        ended = true;
      }
    }
    return true;
  }

  private void append(int from, int count) {
    int kept = Math.min(count, mostBytes - length);
    tooLong |= kept < count;
    if (length + kept > line.length) {
      line =
          Arrays.copyOf(line, (int) Math.min(mostBytes, Math.max(2L * line.length, length + kept)));
    }
    System.arraycopy(read, from, line, length, kept);
    length += kept;
  }

  /** The bytes of the line, and others after its {@link #length}. They are valid until the next line. */
  byte[] bytes() {
    return line;
  }

  int length() {
    return length;
  }

  /** Whether the line has more bytes than are kept. */
  boolean isTooLong() {
    return tooLong;
  }

  /** Whether the line has its end, so that nothing is missing from it. */
  boolean hasEnd() {
    return ended;
  }
}
