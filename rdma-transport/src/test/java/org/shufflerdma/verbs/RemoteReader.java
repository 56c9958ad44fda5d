/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.net.InetSocketAddress;
import java.util.zip.CRC32C;

/** The other process of {@link TwoProcessTest}: port, address, rkey and length to read. */
final class RemoteReader {
  private RemoteReader() {}

  public static void main(String[] arguments) throws Exception {
    int length = Integer.parseInt(arguments[3]);
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Side side = loopback.connectTo(
          new InetSocketAddress(TestDevice.address(), Integer.parseInt(arguments[0])));
      NativeMemory memory = loopback.own(NativeMemory.allocate(length, true));
      MemoryRegion sink =
          loopback.own(side.domain.register(memory.address(), length, Access.LOCAL_WRITE));
      ReadBatch batch = new ReadBatch(1);
      batch.add(
          5,
          sink.address(),
          sink.lkey(),
          length,
          Long.parseLong(arguments[1]),
          Integer.parseInt(arguments[2]),
          true);
      side.pair.postReads(batch);
      CompletionBatch completions = side.awaitCompletion();
      System.out.println("status " + WcStatus.text(completions.status(0)));
      CRC32C checksum = new CRC32C();
      checksum.update(memory.slice(0, length));
      System.out.println("checksum " + checksum.getValue());
      loopback.client.disconnect();
      Loopback.expect(loopback.clientChannel, CmEventType.DISCONNECTED);
    }
    if (TestDevice.isSoft()) {
      tellCounters(TestDevice.open().softCounters());
    }
  }

  private static void tellCounters(SoftCounters counters) {
    System.out.println("file " + counters.readBytesFile());
    System.out.println("cma " + counters.readBytesCma());
    System.out.println("wire " + counters.readBytesWire());
    System.out.println("live " + (counters.mrLive() + counters.qpLive() + counters.pdLive()));
  }
}
