/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What the thread of a task does for a list of READs, and with the bytes of a fetch buffer. The objects
 * that are counted for a list include those of the benchmark.
 */
@State(Scope.Thread)
public class ReadLoops {
  /** The system property that names a folder for the files that are READ. */
  public static final String DIRECTORY = "bench.directory";

  private static final long SOURCE_BYTES = 64 << 20;
  private static final long SINK_BYTES = 1 << 20;

  private @Nullable OtherJvm server;
  private @Nullable ConnectionReads reads;

  /** The lists that are posted one after the other, through all files again and again. */
  @State(Scope.Thread)
  public static class OneList {
    @Param({"1024", "16384"})
    public int readBytes;

    @Param({"1", "64"})
    public int depth;

    private ReadBench.Lists lists = new ReadBench.Lists(1, 1, 1);
    private int next;

    @Setup
    public void setUp() {
      lists = new ReadBench.Lists(readBytes, depth, (int) (SOURCE_BYTES / readBytes / depth));
    }
  }

  /** A block in a fetch buffer. */
  @State(Scope.Thread)
  public static class Buffered {
    @Param({"1024", "262144"})
    public int blockBytes;

    private ByteBuffer block = ByteBuffer.allocateDirect(0);
    private byte[] heap = {};

    @Setup
    public void setUp(ReadLoops loops) {
      block = loops.connected().sinkBytes(blockBytes);
      heap = new byte[blockBytes];
    }
  }

  @Setup
  public void setUp() throws Exception {
    Path directory = Path.of(System.getProperty(DIRECTORY));
    ReadSource source = ReadSource.ofBytes(directory, SOURCE_BYTES);
    server = OtherJvm.start(
        List.of(), ReadServer.class, directory.toString(), Long.toString(SOURCE_BYTES));
    reads = new ConnectionReads(server.said(), source, SINK_BYTES);
  }

  @TearDown
  public void tearDown() throws Exception {
    connected().close();
    if (server != null) {
      server.close();
    }
  }

  private ConnectionReads connected() {
    if (reads == null) {
      throw new IllegalStateException("there is no connection yet");
    }
    return reads;
  }

  @Benchmark
  public void readList(OneList one) throws Exception {
    connected().readList(one.lists, one.next);
    one.next = (one.next + 1) % one.lists.lists();
  }

  @Benchmark
  public void pollInVain() {
    connected().poll();
  }

  @Benchmark
  public long checksum(Buffered buffered) {
    CRC32C checksum = new CRC32C();
    checksum.update(buffered.block.duplicate());
    return checksum.getValue();
  }

  @Benchmark
  public byte[] copyToHeap(Buffered buffered) {
    buffered.block.get(0, buffered.heap);
    return buffered.heap;
  }
}
