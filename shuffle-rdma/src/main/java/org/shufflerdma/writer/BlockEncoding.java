/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;

/** How the serialized bytes of a partition become those of its block. One per map task, for its thread alone. */
interface BlockEncoding {
  /** The most serialized bytes that are encoded at a time. */
  int mostBytes();

  /**
   * Encodes the next bytes of a partition, in the form in which they are kept in memory or spilled.
   *
   * @param length from 1 to {@link #mostBytes}
   */
  void encode(byte[] bytes, int length, OutputStream kept) throws IOException;

  /**
   * Returns a stream that makes a block of what {@link #encode} has made of the bytes of a partition. Closing it ends the
   * block and closes {@code file}.
   */
  OutputStream open(OutputStream file) throws IOException;
}
