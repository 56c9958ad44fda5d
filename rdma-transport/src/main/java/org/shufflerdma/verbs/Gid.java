/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;

/** One entry of a port's GID table: 128 bits in network byte order, as two words. */
public record Gid(int index, long high, long low) {
  static Gid of(int index, byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new Gid(index, buffer.getLong(), buffer.getLong());
  }

  /** An unused slot of the table. */
  public boolean isZero() {
    return high == 0 && low == 0;
  }

  /** The GID as an IP address, which it is on RoCE. */
  public InetAddress toInetAddress() {
    ByteBuffer bytes = ByteBuffer.allocate(16).putLong(high).putLong(low);
    try {
      return InetAddress.getByAddress(bytes.array());
    } catch (UnknownHostException e) {
      throw new AssertionError("16 bytes are always an address", e);
    }
  }
}
