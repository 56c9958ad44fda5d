/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
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
  private static final int EINVAL = 22;
  private static final int EOPNOTSUPP = 95;
  private static final FileTime LONG_AGO = FileTime.fromMillis(1_000_000_000_000L);

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

  @ParameterizedTest
  @MethodSource("directories")
  void registeringDirtiesTheFileOnOldKernelsOnly(Path directory) throws Exception {
    try (Fixture fixture = new Fixture(directory)) {
      assertThat(Files.getLastModifiedTime(fixture.path).equals(LONG_AGO))
          .as("modification time kept on Linux %s", System.getProperty("os.version"))
          .isEqualTo(!registeringDirties());
      // Pages of tmpfs are always dirty, and so are those of an overlay over it.
      if (!List.of("tmpfs", "overlay").contains(Files.getFileStore(directory).type())) {
        assertThat(dirtyBytes(fixture.path)).isEqualTo(registeringDirties() ? LENGTH : 0);
      }
      assertThat(fixture.read()).isEqualTo(fixture.content);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void pagesArePinnedUntilTheRegionIsDeregistered(Path directory) throws Exception {
    assumePinned();
    try (Fixture fixture = new Fixture(directory)) {
      long pinned = pinnedBytes();
      Files.delete(fixture.path);
      fixture.mapped.close();
      assertThat(pinnedBytes()).isEqualTo(pinned);
      fixture.source.close();
      assertThat(pinnedBytes()).isEqualTo(pinned - LENGTH);
      assertThat(fixture.readStatus(fixture.source)).startsWith("IBV_WC_REM_ACCESS_ERR");
    }
  }

  private static boolean filesArePagedOnDemand() {
    return TestDevice.isSoft() || kernelIsAtLeast(7, 0);
  }

  private static MemoryRegion onDemand(Fixture fixture) throws VerbsException {
    return fixture.domain.register(
        fixture.mapped, 0, LENGTH, Access.REMOTE_READ | Access.ON_DEMAND);
  }

  @ParameterizedTest
  @MethodSource("directories")
  void onDemandRegionsPinNothingWhereTheKernelHasThem(Path directory) throws Exception {
    try (Fixture fixture = new Fixture(directory)) {
      long pinned = pinnedBytes();
      if (filesArePagedOnDemand()) {
        try (MemoryRegion region = onDemand(fixture)) {
          assertThat(fixture.read(region)).isEqualTo(fixture.content);
          assertThat(pinnedBytes()).isEqualTo(pinned);
        }
      } else {
        assertThatExceptionOfType(VerbsException.class)
            .isThrownBy(() -> onDemand(fixture))
            .matches(e -> e.errno() == EINVAL || e.errno() == EOPNOTSUPP, "errno");
      }
      assertThat(fixture.read()).isEqualTo(fixture.content);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void aRemovedFileOfAnOnDemandRegionIsRead(Path directory) throws Exception {
    assumeThat(filesArePagedOnDemand()).as("this kernel pages files on demand").isTrue();
    try (Fixture fixture = new Fixture(directory);
        MemoryRegion region = onDemand(fixture)) {
      Files.delete(fixture.path);
      assertThat(fixture.read(region)).isEqualTo(fixture.content);
    }
  }

  @ParameterizedTest
  @MethodSource("directories")
  void aReadOfATruncatedFileOfAnOnDemandRegionFails(Path directory) throws Exception {
    assumeThat(filesArePagedOnDemand()).as("this kernel pages files on demand").isTrue();
    try (Fixture fixture = new Fixture(directory);
        MemoryRegion region = onDemand(fixture)) {
      assertThat(fixture.read(region)).isEqualTo(fixture.content);
      try (FileChannel channel = FileChannel.open(fixture.path, StandardOpenOption.WRITE)) {
        channel.truncate(0);
      }
      assertThat(fixture.readStatus(region)).startsWith("IBV_WC_REM_");
    }
  }

  private static boolean kernelIsAtLeast(int major, int minor) {
    String[] version = System.getProperty("os.version").split("[.-]", 3);
    int actual = Integer.parseInt(version[0]);
    return actual > major || (actual == major && Integer.parseInt(version[1]) >= minor);
  }

  /** Up to Linux 6.1 whatever is registered is pinned for writing. */
  private static boolean registeringDirties() {
    return !TestDevice.isSoft() && !kernelIsAtLeast(6, 2);
  }

  /** Of this file's pages that are mapped here. */
  private static long dirtyBytes(Path path) throws IOException {
    long bytes = 0;
    boolean ofFile = false;
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
      if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
        ofFile = line.endsWith(path.toString());
      } else if (ofFile && line.matches("(Shared|Private)_Dirty:.*")) {
        bytes += kibibytes(line);
      }
    }
    return bytes;
  }

  private static long pinnedBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmPin:")) {
        return kibibytes(line);
      }
    }
    throw new AssertionError("no VmPin in /proc/self/status");
  }

  private static long kibibytes(String line) {
    return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
  }

  private static void assumePinned() {
    assumeThat(TestDevice.isSoft()).as("the software device pins no pages").isFalse();
  }

  /** A registered file at one end of a connection, on disk and last written long ago, and a sink at the other. */
  private static final class Fixture implements AutoCloseable {
    final byte[] content = new byte[LENGTH];
    final Path path;
    final MappedFile mapped;
    private final Loopback loopback = Loopback.listening();
    private final Loopback.Side initiator;
    final ProtectionDomain domain;
    final MemoryRegion source;
    private final NativeMemory memory;
    private final MemoryRegion sink;

    Fixture(Path directory) throws Exception {
      new Random(5).nextBytes(content);
      path = Files.write(Files.createTempFile(directory, "life", ".data"), content);
      try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Files.setLastModifiedTime(path, LONG_AGO);
      Loopback.Pair pair = loopback.connect();
      initiator = pair.initiator();
      mapped = loopback.own(MappedFile.open(path));
      domain = pair.responder().domain;
      source = loopback.own(domain.register(mapped, 0, mapped.size(), Access.REMOTE_READ));
      memory = loopback.own(NativeMemory.allocate(LENGTH, false));
      sink = loopback.own(
          initiator.domain.register(memory.address(), memory.size(), Access.LOCAL_WRITE));
    }

    byte[] read() throws VerbsException {
      return read(source);
    }

    byte[] read(MemoryRegion region) throws VerbsException {
      assertThat(readStatus(region)).startsWith("IBV_WC_SUCCESS");
      byte[] read = new byte[LENGTH];
      memory.slice(0, LENGTH).get(read);
      return read;
    }

    String readStatus(MemoryRegion region) throws VerbsException {
      ReadBatch batch = new ReadBatch(1);
      batch.add(1, sink.address(), sink.lkey(), LENGTH, region.address(), region.rkey(), true);
      assertThat(initiator.pair.postReads(batch)).isEqualTo(1);
      return WcStatus.text(initiator.awaitCompletion().status(0));
    }

    @Override
    public void close() throws IOException {
      loopback.close();
      Files.deleteIfExists(path);
    }
  }
}
