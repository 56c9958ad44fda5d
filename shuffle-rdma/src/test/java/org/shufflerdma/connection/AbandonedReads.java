/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * Gives up the buffers of READs whose bytes come much later, and says what became of their
 * connection: {@code KIND of breakage, ZOMBIE bytes}.
 */
final class AbandonedReads {
  private static final int BYTES = 100_000;
  private static final long POOL_BYTES = 4 << 20;

  private AbandonedReads() {}

  /** The argument is how many READs are given up. */
  public static void main(String[] arguments) throws Exception {
    try (RdmaTransport owner = TestTransports.open("owner");
        RdmaTransport reader =
            TestTransports.open("reader", TestTransports.settings(0, POOL_BYTES));
        RegisteredArena arena = TestTransports.arena(owner)) {
      Connection connection = reader
          .connections()
          .connect(TestTransports.peerOf("owner", owner), null, Deadline.afterMs(20_000));
      ArenaSlice remote = arena.allocate(BYTES);
      Read read = new Read(remote.address(), remote.rkey(), BYTES, 0);
      for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
        RegisteredBuffer sink = reader.buffers().acquire(BYTES, Deadline.afterMs(20_000));
        connection.post(List.of(read), sink, new AwaitedCompletion(), Deadline.afterMs(20_000));
        sink.release();
      }
      Deadline deadline = Deadline.afterMs(6_000);
      while (reader.buffers().usage().zombieBytes() > 0 && !deadline.expired()) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
      Breakage breakage = connection.breakage();
      System.out.println((breakage == null ? "open" : breakage.kind())
          + (reader.buffers().usage().zombieBytes() > 0 ? ", zombies" : ", none"));
      System.out.flush();
      Runtime.getRuntime().halt(0); // the last frames are still on their way
    }
  }
}
