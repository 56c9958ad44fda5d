/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * What a host that serves tells the host that reads from it, on their control connection.
 *
 * @param memory the registered file
 * @param bytes of that file
 * @param rdma where its links listen
 * @param tcp where its {@link TcpSource} listens
 */
record Offer(RemoteMemory memory, TestBytes bytes, InetSocketAddress rdma, InetSocketAddress tcp) {
  /** Another build may mean something else by the same bytes. */
  private static final long MAGIC = 0x7665726966792d31L;

  void write(DataOutputStream out) throws IOException {
    out.writeLong(MAGIC);
    out.writeLong(memory.address());
    out.writeInt(memory.rkey());
    out.writeLong(memory.length());
    out.writeLong(bytes.seed());
    writeAddress(out, rdma);
    writeAddress(out, tcp);
    out.flush();
  }

  static Offer read(DataInputStream in) throws IOException {
    if (in.readLong() != MAGIC) {
      throw new IOException("what listens there is no verify-hardware of this version");
    }
    RemoteMemory memory = new RemoteMemory(in.readLong(), in.readInt(), in.readLong());
    if (memory.length() < TcpSource.MOST_BYTES) {
      throw new IOException("a file of " + memory.length() + " bytes is too short to be measured");
    }
    return new Offer(memory, new TestBytes(in.readLong()), readAddress(in), readAddress(in));
  }

  private static void writeAddress(DataOutputStream out, InetSocketAddress address)
      throws IOException {
    byte[] host = address.getAddress().getAddress();
    out.writeByte(host.length);
    out.write(host);
    out.writeShort(address.getPort());
  }

  private static InetSocketAddress readAddress(DataInputStream in) throws IOException {
    byte[] host = in.readNBytes(in.readUnsignedByte());
    return new InetSocketAddress(InetAddress.getByAddress(host), in.readUnsignedShort());
  }
}
