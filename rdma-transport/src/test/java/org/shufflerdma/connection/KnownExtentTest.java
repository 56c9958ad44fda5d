/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.Jvm;

/** The core alone: one process READs a part of a file that another has registered. */
@Timeout(120)
class KnownExtentTest {
  private static final int FILE_BYTES = 3 << 20;
  private static final int EXTENT_AT = 1_234_567;
  private static final int EXTENT_BYTES = 100_003;

  @TempDir
  Path directory;

  @Test
  void anExtentOfAnotherProcessesFileIsRead() throws Exception {
    byte[] content = new byte[FILE_BYTES];
    new Random(5).nextBytes(content);
    Path file = Files.write(directory.resolve("data"), content);
    try (Jvm owner = Jvm.start(Map.of(), FileOwner.class, file.toString());
        RdmaTransport reader = TestTransports.open("reader")) {
      String[] at = owner.awaitLine(FileOwner.SERVES).split(" ", 5);
      RdmaEndpoint endpoint = new RdmaEndpoint(at[0], Integer.parseInt(at[1]), Nonce.ofHex(at[2]));
      long address = Long.parseLong(at[3]) + EXTENT_AT;
      Connection connection =
          TestTransports.connect(reader, new PeerId(FileOwner.EXECUTOR, endpoint));
      byte[] read = read(reader, connection, address, Integer.parseInt(at[4]));
      assertThat(read).isEqualTo(Arrays.copyOfRange(content, EXTENT_AT, EXTENT_AT + EXTENT_BYTES));
    }
  }

  private static byte[] read(RdmaTransport reader, Connection connection, long address, int rkey)
      throws Exception {
    RegisteredBuffer sink = reader.buffers().acquire(EXTENT_BYTES, Deadline.afterMs(1_000));
    try {
      AwaitedCompletion completion = new AwaitedCompletion();
      Read extent = new Read(address, rkey, EXTENT_BYTES, 0);
      connection.post(List.of(extent), sink, completion, Deadline.afterMs(5_000));
      assertThat(completion.await(Deadline.afterMs(20_000))).isNull();
      byte[] bytes = new byte[EXTENT_BYTES];
      sink.nioBuffer(0, EXTENT_BYTES).get(bytes);
      return bytes;
    } finally {
      sink.release();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "org.apache.spark.SparkConf",
        "org.apache.hadoop.conf.Configuration",
        "scala.Option",
        "io.netty.buffer.ByteBuf"
      })
  void nothingOfAFrameworkIsOnTheClassPath(String name) {
    assertThatThrownBy(() -> Class.forName(name)).isInstanceOf(ClassNotFoundException.class);
  }
}
