/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * A process whose fetches are all given up while their READs are posted. Every buffer that is free
 * meanwhile is taken and filled with a pattern; if anything of a READ then comes to lie in one, it
 * ends with status 1. The device must be told to be late with the bytes.
 */
final class PoisonedBuffers {
  private static final int ROUNDS = 25;
  private static final int GIVEN_UP = 4;
  private static final int TAKEN = 8;
  private static final int BYTES = 60_000;
  private static final byte READ_BYTE = 0x11;
  private static final byte POISON = (byte) 0xDE;

  private final RdmaTransport reader;
  private final Connection connection;
  private final List<Read> read;

  private PoisonedBuffers(RdmaTransport reader, Connection connection, List<Read> read) {
    this.reader = reader;
    this.connection = connection;
    this.read = read;
  }

  public static void main(String[] arguments) throws Exception {
    int overwritten = 0;
    try (RdmaTransport owner = TestTransports.open("owner");
        RdmaTransport reader = TestTransports.open("reader");
        RegisteredArena arena = TestTransports.arena(owner)) {
      Connection connection = TestTransports.connect(reader, TestTransports.peerOf("owner", owner));
      ArenaSlice remote = arena.allocate(BYTES);
      fill(remote.buffer(), READ_BYTE);
      Read read = new Read(remote.address(), remote.rkey(), BYTES, 0);
      PoisonedBuffers buffers = new PoisonedBuffers(reader, connection, List.of(read));
      for (int round = 0; round < ROUNDS; round++) {
        overwritten += buffers.round();
      }
    }
    System.out.printf(
        "%d of %d buffers were written to after they had come back%n", overwritten, ROUNDS * TAKEN);
    System.exit(overwritten == 0 ? 0 : 1);
  }

  /** How many buffers that were free did not stay as they were. */
  private int round() throws Exception {
    List<AwaitedCompletion> completions = new ArrayList<>();
    for (int i = 0; i < GIVEN_UP; i++) {
      RegisteredBuffer sink = acquire();
      AwaitedCompletion completion = new AwaitedCompletion();
      connection.post(read, sink, completion, Deadline.afterMs(20_000));
      sink.release();
      completions.add(completion);
    }
    List<RegisteredBuffer> free = new ArrayList<>();
    for (int i = 0; i < TAKEN; i++) {
      RegisteredBuffer buffer = acquire();
      fill(buffer.nioBuffer(0, BYTES), POISON);
      free.add(buffer);
    }
    for (AwaitedCompletion completion : completions) {
      if (completion.await(Deadline.afterMs(20_000)) != null) {
        throw new AssertionError("a READ failed");
      }
    }
    byte[] poison = new byte[BYTES];
    Arrays.fill(poison, POISON);
    int overwritten = 0;
    for (RegisteredBuffer buffer : free) {
      overwritten += buffer.nioBuffer(0, BYTES).equals(ByteBuffer.wrap(poison)) ? 0 : 1;
      buffer.release();
    }
    return overwritten;
  }

  private RegisteredBuffer acquire() throws Exception {
    return reader.buffers().acquire(BYTES, Deadline.afterMs(20_000));
  }

  private static void fill(ByteBuffer buffer, byte value) {
    byte[] bytes = new byte[buffer.remaining()];
    Arrays.fill(bytes, value);
    buffer.put(bytes);
  }
}
