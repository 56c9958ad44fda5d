/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Await;

/** What the user of a job puts in the place of the job's files and folders. */
@Timeout(180)
class JobFoldersTest {
  private static final String MAP = "attempt_1700000000000_0001_m_000000_0";
  private static final int STRANGER = 64_001;

  @TempDir
  static Path directory;

  private static Scene scene;
  private static int jobs;
  private JobOutputs job;
  private byte[] bytes;

  @BeforeAll
  static void start() throws Exception {
    scene = new Scene(directory, 256 << 20);
  }

  @AfterAll
  static void stop() throws Exception {
    scene.close();
  }

  /** A job that the service does not know yet. */
  @BeforeEach
  void submit() throws Exception {
    job = scene.job("alice", "application_1700000000000_%04d".formatted(++jobs));
    job.grant().leave();
    bytes = job.write(MAP, 500);
  }

  @AfterEach
  void othersAreServed() throws Exception {
    JobOutputs other = scene.job("bob");
    other.grant().leave();
    scene.assertServes(other);
  }

  /** What may be in the place of a file. */
  private enum Substitute {
    SYMBOLIC_LINK {
      @Override
      void make(Path file, Path original) throws IOException {
        Files.createSymbolicLink(file, original);
      }
    },
    HARD_LINK {
      @Override
      void make(Path file, Path original) throws IOException {
        Files.createLink(file, original);
      }
    },
    PIPE {
      @Override
      void make(Path file, Path original) throws Exception {
        run("mkfifo", file.toString());
      }
    },
    FOLDER {
      @Override
      void make(Path file, Path original) throws IOException {
        Files.createDirectory(file);
      }
    },
    FILE_OF_ANOTHER {
      @Override
      void make(Path file, Path original) throws IOException {
        assumeThat(System.getProperty("user.name"))
            .as("root owns files of others")
            .isEqualTo("root");
        Files.copy(original, file);
        Files.setAttribute(file, "unix:uid", STRANGER);
      }
    },
    NOTHING {
      @Override
      void make(Path file, Path original) {}
    };

    abstract void make(Path file, Path original) throws Exception;
  }

  private static void run(String... command) throws Exception {
    assertThat(Scene.statusOf(command)).isZero();
  }

  /** Moves a file away, and puts something else in its place. Returns where it is. */
  private static Path substitute(Path file, Substitute by) throws Exception {
    Path moved = file.resolveSibling("moved");
    Files.move(file, moved);
    by.make(file, moved);
    return moved;
  }

  private static void putBack(Path moved, Path file) throws IOException {
    Files.deleteIfExists(file);
    Files.move(moved, file);
  }

  private Object fetch(String map) throws IOException {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      return Scene.fetch(client, map);
    }
  }

  @ParameterizedTest
  @EnumSource(Substitute.class)
  void nothingIsReadInThePlaceOfAnOutput(Substitute by) throws Exception {
    for (String name : List.of("file.out", "file.out.index")) {
      String map = "attempt_2_" + name.length();
      byte[] whole = job.write(map, 400);
      Path file = job.output(map).resolve(name);
      Path moved = substitute(file, by);
      assertThat(fetch(map)).as(name).isEqualTo("STAGING");
      putBack(moved, file);
      assertThat(fetch(map)).as(name).isEqualTo(whole);
    }
  }

  @ParameterizedTest
  @EnumSource(Substitute.class)
  void nothingIsReadInThePlaceOfAGrant(Substitute by) throws Exception {
    Path file = job.output("shuffle-rdma.grant");
    Path moved = substitute(file, by);
    assertNotServed();
    putBack(moved, file);
    assertThat(fetch(MAP)).isEqualTo(bytes);
  }

  private void assertNotServed() {
    assertThatThrownBy(() -> scene.connect(job.grant())).isInstanceOf(IOException.class);
  }

  /** {@code ..} stands for appcache: all folders that belong to the user. */
  @ParameterizedTest
  @ValueSource(strings = {"..", ".", "output", "output/" + MAP})
  void aFolderThatIsALinkIsNotEntered(String name) throws Exception {
    Path folder = job.folder().resolve(name).normalize();
    String output = "output/" + MAP;
    if (!name.equals(output)) {
      Path moved = substitute(folder, Substitute.SYMBOLIC_LINK);
      assertNotServed();
      putBack(moved, folder);
    }
    assertThat(fetch(MAP)).isEqualTo(bytes);
    byte[] second = job.write("attempt_2", 300); // no file of which is open
    Path late = name.equals(output) ? job.output("attempt_2") : folder;
    Path moved = substitute(late, Substitute.SYMBOLIC_LINK);
    assertThat(fetch("attempt_2")).isEqualTo("STAGING");
    putBack(moved, late);
    assertThat(fetch("attempt_2")).isEqualTo(second);
  }

  private static Stream<byte[]> damagedIndexes() {
    byte[] wrongSum = checked(0, 1_000, 500);
    wrongSum[31] ^= 1;
    return Stream.of(
        new byte[0],
        new byte[8],
        new byte[31],
        wrongSum,
        checked(0, 1_000, 501),
        checked(500, 1_000, 1),
        checked(-1, 1_000, 500),
        checked(0, 1_000, -1),
        checked(Long.MAX_VALUE, 1_000, 500),
        checked(1, 1_000, Long.MAX_VALUE),
        new byte[64 << 20]);
  }

  private static byte[] checked(long start, long rawBytes, long lengthBytes) {
    ByteBuffer index =
        ByteBuffer.allocate(32).putLong(start).putLong(rawBytes).putLong(lengthBytes);
    CRC32 crc = new CRC32();
    crc.update(index.array(), 0, 24);
    return index.putLong(crc.getValue()).array();
  }

  @Test
  void aDamagedIndexIsRefused() throws Exception {
    int maps = 0;
    for (byte[] index : damagedIndexes().toList()) {
      String map = "attempt_3_" + maps++;
      job.write(map, 500);
      Files.write(job.output(map).resolve("file.out.index"), index);
      assertThat(fetch(map)).as("index %d", maps).isEqualTo("STAGING");
    }
    job.write("attempt_3", 500);
    Files.write(job.output("attempt_3").resolve("file.out.index"), checked(0, 1_000, 500));
    assertThat(fetch("attempt_3")).isInstanceOf(byte[].class);
  }

  /** Nobody computes its checksum for hours. */
  @Test
  void anIndexThatIsLargerThanAnyJobsIsRefusedAtOnce() throws Exception {
    try (RandomAccessFile index =
        new RandomAccessFile(job.output(MAP).resolve("file.out.index").toFile(), "rw")) {
      index.setLength((100L << 30) / 24 * 24 + 8);
    }
    long startNs = System.nanoTime();
    assertThat(fetch(MAP)).isEqualTo("STAGING");
    assertThat(System.nanoTime() - startNs).isLessThan(TimeUnit.SECONDS.toNanos(10));
  }

  @Test
  void anOutputThatIsTruncatedAfterItsIndexWasReadIsRefused() throws Exception {
    byte[] whole = job.write("attempt_4", 300, 400);
    try (NodeServiceClient client = scene.connect(job.grant())) {
      assertThat(Scene.fetch(client, 0, List.of("attempt_4")).get(0))
          .isEqualTo(Arrays.copyOf(whole, 300));
      try (RandomAccessFile data =
          new RandomAccessFile(job.output("attempt_4").resolve("file.out").toFile(), "rw")) {
        data.setLength(500);
      }
      assertThat(Scene.fetch(client, 1, List.of("attempt_4"))).containsValue("STAGING");
      assertThat(Scene.fetch(client, MAP)).isEqualTo(bytes);
    }
  }

  @Test
  void aGrantThatIsNoneOfTheJobIsOfNoUse() throws Exception {
    Path file = job.output("shuffle-rdma.grant");
    String right = Files.readString(file);
    JobOutputs other = scene.job("alice", "application_1700000000001_%04d".formatted(jobs));
    other.grant().leave();
    for (String wrong : List.of(
        "",
        right.strip(),
        right + "\n",
        right.replace("grant 1", "grant 2"),
        right.substring(0, right.length() - 3) + "\n",
        right.toUpperCase(Locale.ROOT),
        "\0".repeat(300),
        "x".repeat(100_000))) {
      Files.writeString(file, wrong);
      assertNotServed();
    }
    Files.writeString(file, Files.readString(other.output("shuffle-rdma.grant")));
    assertNotServed(); // the service knows it for the other key, until the folders are gone
    Files.writeString(file, right);
    assertThatThrownBy(() -> scene.connect(job.grant())).isInstanceOf(IOException.class);
  }

  /** As when a disk fails. */
  @Test
  void aLocalDirectoryThatFailsHidesNoFileInAnother() throws Exception {
    Path absent = directory.resolve("absent"); // which the service looks at first
    Path other = absent.resolve("usercache/alice");
    Files.createDirectories(other.getParent());
    try {
      Files.writeString(other, "no folder");
      assertThat(fetch(MAP)).isEqualTo(bytes);
      Files.delete(other);
      Files.createDirectories(other.resolve("appcache").resolve(job.folder().getFileName()));
      Files.createSymbolicLink(
          other.resolve("appcache").resolve(job.folder().getFileName()).resolve("output"),
          job.folder().resolve("output"));
      assertThat(fetch(MAP)).isEqualTo(bytes);
    } finally {
      run("rm", "-r", absent.toString());
    }
  }

  /** Else its reducers would keep memory that counts no more. */
  @Test
  void theReducersOfAJobWhoseFoldersAreGoneAreEnded() throws Exception {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      NodeServiceClient.Answer held = client.next(client.fetch(0, Scene.HOST, List.of(MAP)));
      Path slab = Path.of(held.file());
      assertThat(Files.readAttributes(slab, BasicFileAttributes.class).size()).isPositive();
      run("rm", "-r", job.folder().toString());
      Await.atMost(25_000, () -> !Files.exists(slab));
      assertThat(slab).doesNotExist();
      assertThatThrownBy(() -> client.next(0)).isInstanceOf(IOException.class);
    }
  }
}
