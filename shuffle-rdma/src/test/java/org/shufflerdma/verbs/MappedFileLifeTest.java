/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a READ brings of a registered file while its file system does something to it, on each of the
 * folders that {@code RDMA_TEST_DIRECTORIES} lists (with colons), or where temporary files are.
 */
@Timeout(60)
final class MappedFileLifeTest {
  private static final int LENGTH = 1 << 20;

  static Stream<Path> directories() {
    String listed = System.getenv("RDMA_TEST_DIRECTORIES");
    return listed == null
        ? Stream.of(Path.of(System.getProperty("java.io.tmpdir")))
        : Arrays.stream(listed.split(":", -1)).map(Path::of);
  }

  @ParameterizedTest
  @MethodSource("directories")
  void bytesWrittenLaterAreRead(Path directory) throws Exception {
    try (Fixture fixture = new Fixture(directory)) {
      byte[] changed = Arrays.copyOf(fixture.content, LENGTH);
      byte[] news = {1, 2, 3, 4, 5, 6, 7};
      System.arraycopy(news, 0, changed, 300_000, news.length);
      try (FileChannel channel = FileChannel.open(fixture.path, StandardOpenOption.WRITE)) {
        assertThat(channel.write(ByteBuffer.wrap(news), 300_000)).isEqualTo(news.length);
      }
      assertThat(fixture.read()).isEqualTo(changed);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void aRemovedFileIsRead(Path directory) throws Exception {
    try (Fixture fixture = new Fixture(directory)) {
      Files.delete(fixture.path);
      assertThat(fixture.read()).isEqualTo(fixture.content);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void aRemovedAndUnmappedFileIsRead(Path directory) throws Exception {
    assumePinned();
    try (Fixture fixture = new Fixture(directory)) {
      Files.delete(fixture.path);
      fixture.mapped.close();
      assertThat(fixture.read()).isEqualTo(fixture.content);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void aTruncatedFileIsReadAsItWas(Path directory) throws Exception {
    assumePinned();
    try (Fixture fixture = new Fixture(directory)) {
      try (FileChannel channel = FileChannel.open(fixture.path, StandardOpenOption.WRITE)) {
        channel.truncate(0);
      }
      assertThat(fixture.read()).isEqualTo(fixture.content);
    }
  }

  private static void assumePinned() {
    assumeThat(TestDevice.isSoft()).as("the software device pins no pages").isFalse();
  }

  /** A registered file at one end of a connection, and a sink at the other. */
  private static final class Fixture implements AutoCloseable {
    final byte[] content = new byte[LENGTH];
    final Path path;
    final MappedFile mapped;
    private final Loopback loopback = Loopback.listening();
    private final Loopback.Side initiator;
    private final MemoryRegion source;
    private final NativeMemory memory;
    private final MemoryRegion sink;

    Fixture(Path directory) throws Exception {
      new Random(5).nextBytes(content);
      path = Files.write(Files.createTempFile(directory, "life", ".data"), content);
      Loopback.Pair pair = loopback.connect();
      initiator = pair.initiator();
      mapped = loopback.own(MappedFile.open(path));
      source = loopback.own(
          pair.responder().domain.register(mapped, 0, mapped.size(), Access.REMOTE_READ));
      memory = loopback.own(NativeMemory.allocate(LENGTH, false));
      sink = loopback.own(
          initiator.domain.register(memory.address(), memory.size(), Access.LOCAL_WRITE));
    }

    byte[] read() throws VerbsException {
      ReadBatch batch = new ReadBatch(1);
      batch.add(1, sink.address(), sink.lkey(), LENGTH, source.address(), source.rkey(), true);
      assertThat(initiator.pair.postReads(batch)).isEqualTo(1);
      assertThat(WcStatus.text(initiator.awaitCompletion().status(0))).startsWith("IBV_WC_SUCCESS");
      byte[] read = new byte[LENGTH];
      memory.slice(0, LENGTH).get(read);
      return read;
    }

    @Override
    public void close() throws IOException {
      loopback.close();
      Files.deleteIfExists(path);
    }
  }
}
