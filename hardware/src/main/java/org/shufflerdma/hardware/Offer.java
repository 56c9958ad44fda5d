/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * What a host that serves tells the host that reads from it, on their control connection.
 *
 * @param memory the registered file
 * @param bytes of that file
 * @param rdma where its links listen
 * @param tcp where its {@link TcpSource} listens
 * @param rails the same file on each of its rails, if it has several
 */
record Offer(
    RemoteMemory memory,
    TestBytes bytes,
    InetSocketAddress rdma,
    InetSocketAddress tcp,
    List<OfRail> rails) {
  /** @param rdma where the links of the rail listen */
  record OfRail(String name, RemoteMemory memory, InetSocketAddress rdma) {}

  /** Another build may mean something else by the same bytes. */
  private static final long MAGIC = 0x7665726966792d32L;

  void write(DataOutputStream out) throws IOException {
    out.writeLong(MAGIC);
    writeMemory(out, memory);
    out.writeLong(bytes.seed());
    writeAddress(out, rdma);
    writeAddress(out, tcp);
    out.writeByte(rails.size());
    for (OfRail rail : rails) {
      out.writeUTF(rail.name);
      writeMemory(out, rail.memory);
      writeAddress(out, rail.rdma);
    }
    out.flush();
  }

  static Offer read(DataInputStream in) throws IOException {
    if (in.readLong() != MAGIC) {
      throw new IOException("what listens there is no verify-hardware of this version");
    }
    RemoteMemory memory = readMemory(in);
    if (memory.length() < TcpSource.MOST_BYTES) {
      throw new IOException("a file of " + memory.length() + " bytes is too short to be measured");
    }
    TestBytes bytes = new TestBytes(in.readLong());
    InetSocketAddress rdma = readAddress(in);
    InetSocketAddress tcp = readAddress(in);
    List<OfRail> rails = new ArrayList<>();
    for (int left = in.readUnsignedByte(); left > 0; left--) {
      OfRail rail = new OfRail(in.readUTF(), readMemory(in), readAddress(in));
      if (rail.memory.length() < 1) {
        throw new IOException("rail " + rail.name + " offers " + rail.memory.length() + " bytes");
      }
      rails.add(rail);
    }
    return new Offer(memory, bytes, rdma, tcp, rails);
  }

  private static void writeMemory(DataOutputStream out, RemoteMemory memory) throws IOException {
    out.writeLong(memory.address());
    out.writeInt(memory.rkey());
    out.writeLong(memory.length());
  }

  private static RemoteMemory readMemory(DataInputStream in) throws IOException {
    return new RemoteMemory(in.readLong(), in.readInt(), in.readLong());
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
