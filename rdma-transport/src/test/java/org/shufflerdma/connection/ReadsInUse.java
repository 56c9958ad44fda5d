/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.List;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;

/** Keeps a connection in use, as READs are outstanding whose completions nobody takes until the end. */
public final class ReadsInUse {
  private final PausedPoller paused;
  private final AwaitedCompletion last = new AwaitedCompletion();
  private final RegisteredArena arena;
  private final RegisteredBuffer sink;

  public ReadsInUse(RdmaTransport reader, Connection connection, RdmaTransport owner)
      throws Exception {
    paused = new PausedPoller(reader);
    arena = TestTransports.arena(owner);
    sink = reader.buffers().acquire(64, Deadline.afterMs(0));
    ArenaSlice record = arena.allocate(64);
    List<Read> reads = List.of(new Read(record.address(), record.rkey(), 64, 0));
    connection.post(reads, sink, last, Deadline.afterMs(5_000));
  }

  public void end() throws Exception {
    paused.close();
    last.await(Deadline.afterMs(20_000));
    sink.release();
    arena.close();
  }
}
