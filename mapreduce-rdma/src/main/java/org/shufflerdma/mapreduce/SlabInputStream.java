/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The bytes of one output in a file that the channel has open. It reads by system calls instead of a mapping: a file that
 * somebody has truncated then ends early, and no signal does harm. Used by one thread; the channel is its owner's.
 */
public final class SlabInputStream extends InputStream {
  /** The JDK copies what a heap buffer takes through a direct one of the same size. */
  private static final int STEP_BYTES = 64 << 10;

  private final FileChannel file;
  private long position;
  private final long end;

  public SlabInputStream(FileChannel file, long offset, long lengthBytes) {
    this.file = file;
    this.position = offset;
    this.end = offset + lengthBytes;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (position >= end) {
      return -1;
    }
    int most = (int) Math.min(Math.min(length, STEP_BYTES), end - position);
    int count = file.read(ByteBuffer.wrap(into, offset, most), position);
    if (count < 0) {
      throw new EOFException("the file ends at byte " + position);
    }
    position += count;
    return count;
  }

  @Override
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, end - position);
  }
}
