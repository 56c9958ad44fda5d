/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.ProcessLimits;

/** Where an output's partitions lie, of which a part of the index is in memory at a time. */
class OpenOutputsTest {
  private static final int PARTITIONS = 300;

  @TempDir
  Path directory;

  @Test
  void everyRangeIsWhereTheIndexSays() throws IOException {
    long[] offsets = new long[PARTITIONS + 1];
    Random random = new Random(1);
    for (int i = 1; i <= PARTITIONS; i++) {
      offsets[i] = offsets[i - 1] + random.nextInt(3);
    }
    writeOutput(offsets);
    try (OpenOutputs outputs = open();
        OpenOutputs.Output output = use(outputs, 0, 0)) {
      for (int start = PARTITIONS - 1; start >= 0; start--) {
        for (int end = start + 1; end <= PARTITIONS; end++) {
          assertThat(output.extentOf(range(start, end)))
              .isEqualTo(PartitionIndex.Extent.of(offsets[start], offsets[end] - offsets[start]));
        }
      }
      assertThatThrownBy(() -> output.extentOf(range(PARTITIONS, PARTITIONS + 1)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("partition 301 of 300");
    }
  }

  /** As Hadoop's map tasks write it; a block begins with its length without compression. */
  @Test
  void partitionsOfASpillRecordAreFoundByTheNameOfTheirFolder() throws IOException {
    writeSpill(300);
    try (OpenOutputs outputs = spills();
        OpenOutputs.Output output = outputs.use(OutputName.inFolder("attempt_1_0001_m_000003_0"))) {
      for (int partition = 299; partition >= 0; partition--) {
        PartitionIndex.Extent extent = output.extentOf(range(partition, partition + 1));
        assertThat(extent.lengthBytes()).isEqualTo(8 + partition);
        for (int from = 0; from <= 8 + partition; from += 5) {
          ByteBuffer block = ByteBuffer.allocate(8 + partition - from);
          output.read(extent, from, block);
          ByteBuffer whole = ByteBuffer.allocate(8 + partition).putLong(1000L * partition);
          Arrays.fill(whole.array(), 8, 8 + partition, (byte) partition);
          assertThat(block.array())
              .isEqualTo(Arrays.copyOfRange(whole.array(), from, 8 + partition));
        }
      }
      assertThatThrownBy(() -> output.extentOf(range(300, 301))).hasMessageContaining("of 300");
      assertThatThrownBy(() -> output.extentOf(range(3, 5))).isInstanceOf(IOException.class);
    }
  }

  @Test
  void aDamagedSpillRecordIsRefused() throws IOException {
    writeSpill(7);
    Path index = directory.resolve("index");
    byte[] bytes = Files.readAllBytes(index);
    bytes[30] ^= 1;
    Files.write(index, bytes);
    try (OpenOutputs outputs = spills()) {
      assertThatThrownBy(() -> outputs.use(OutputName.inFolder("map")))
          .hasMessageContaining("checksum of the index");
      Files.write(index, Arrays.copyOf(bytes, bytes.length - 1));
      assertThatThrownBy(() -> outputs.use(OutputName.inFolder("map")))
          .hasMessageContaining("an index of 175 bytes");
    }
  }

  /** Partition n has n bytes n, and says that they are 1000 n without compression. */
  private void writeSpill(int partitions) throws IOException {
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    ByteBuffer index = ByteBuffer.allocate(partitions * 24 + 8);
    for (int partition = 0; partition < partitions; partition++) {
      index.putLong(data.size()).putLong(1000L * partition).putLong(partition);
      byte[] bytes = new byte[partition];
      Arrays.fill(bytes, (byte) partition);
      data.write(bytes);
    }
    CRC32 crc = new CRC32();
    crc.update(index.array(), 0, partitions * 24);
    index.putLong(crc.getValue());
    Files.write(directory.resolve("index"), index.array());
    Files.write(directory.resolve("data"), data.toByteArray());
  }

  private OpenOutputs spills() {
    return new OpenOutputs(
        new CommittedOutputs() {
          @Override
          public CommittedOutputs.Files open(int shuffleId, long mapId) throws IOException {
            throw new NoSuchFileException("none of Spark's");
          }

          @Override
          public CommittedOutputs.Files open(String folder) throws IOException {
            return new CommittedOutputs.Files(
                FileChannel.open(directory.resolve("data")),
                FileChannel.open(directory.resolve("index")),
                CommittedOutputs.Layout.SPILL_RECORD);
          }
        },
        Runnable::run);
  }

  @Test
  void offsetsOutsideTheFileAreRefused() throws IOException {
    writeOutput(0, 7, 3, 900, 10);
    try (OpenOutputs outputs = open();
        OpenOutputs.Output output = use(outputs, 0, 0)) {
      assertThat(output.extentOf(range(0, 1))).isEqualTo(PartitionIndex.Extent.of(0, 7));
      assertThatThrownBy(() -> output.extentOf(range(1, 2)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 7 to 3");
      assertThatThrownBy(() -> output.extentOf(range(2, 3)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 3 to 900");
    }
  }

  @Test
  void theOutputsOfARemovedShuffleAreClosedAndThoseThatAreWrittenAnewAreOpened()
      throws IOException {
    writeOutput(0, 7);
    try (OpenOutputs outputs = open()) {
      use(outputs, 5, 1).close();
      assertThat(isOpenHere()).isTrue();
      outputs.forgetShuffle(5);
      assertThat(isOpenHere()).isFalse();
      Files.delete(directory.resolve("data"));
      assertThatThrownBy(() -> use(outputs, 5, 1)).isInstanceOf(NoSuchFileException.class);
      writeOutput(0, 9);
      try (OpenOutputs.Output output = use(outputs, 5, 2)) {
        assertThat(output.extentOf(range(0, 1))).isEqualTo(PartitionIndex.Extent.of(0, 9));
      }
    }
    assertThat(isOpenHere()).isFalse();
  }

  /** A file system that hangs may keep whoever closes a file waiting for ever. */
  @Test
  void filesAreClosedByWorkersAlone() throws IOException {
    writeOutput(0, 7);
    List<Runnable> handedOver = new ArrayList<>();
    OpenOutputs outputs = open(handedOver::add);
    use(outputs, 5, 1).close();
    use(outputs, 6, 2).close();
    use(outputs, 7, 3).close();
    OpenOutputs.Output inUse = use(outputs, 8, 4);
    outputs.forgetShuffle(5);
    assertThat(handedOver).hasSize(1);
    outputs.closeUnused(-1);
    assertThat(handedOver).hasSize(3);
    outputs.close();
    assertThat(handedOver).hasSize(3);
    inUse.close(); // as the worker does that has used it
    assertThat(handedOver).hasSize(3);
    assertThat(isOpenHere()).isTrue();
    handedOver.forEach(Runnable::run);
    assertThat(isOpenHere()).isFalse();
  }

  @Test
  void whereTheWorkersHaveEndedFilesAreClosedNevertheless() throws IOException {
    writeOutput(0, 7);
    OpenOutputs outputs = open(step -> {
      throw new IllegalStateException("nothing is staged any more");
    });
    use(outputs, 5, 1).close();
    outputs.close();
    assertThat(isOpenHere()).isFalse();
  }

  @Test
  void anOutputThatMakesRoomIsClosedBeforeAnotherIsOpened() throws IOException {
    writeOutput(0, 7);
    List<Runnable> handedOver = new ArrayList<>();
    int most = OpenOutputs.maxOpen(ProcessLimits.read().descriptors());
    OpenOutputs outputs = open(handedOver::add);
    for (int map = 0; map < most + 10; map++) {
      use(outputs, 0, map).close();
    }
    assertThat(openHere()).isEqualTo(most);
    assertThat(handedOver).isEmpty();
    outputs.close();
    handedOver.forEach(Runnable::run);
    assertThat(openHere()).isZero();
  }

  private boolean isOpenHere() throws IOException {
    return openHere() > 0;
  }

  /** How many descriptors of the data this process has. */
  private long openHere() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      Path data = directory.toRealPath().resolve("data");
      return descriptors.filter(descriptor -> refersTo(descriptor, data)).count();
    }
  }

  private static boolean refersTo(Path descriptor, Path file) {
    try {
      return Files.readSymbolicLink(descriptor).equals(file);
    } catch (IOException e) {
      return false; // that of the listing itself
    }
  }

  @Test
  void asManyStayOpenAsTheProcessCanSpare() {
    assertThat(OpenOutputs.maxOpen(256)).isEqualTo(16);
    assertThat(OpenOutputs.maxOpen(1024)).isEqualTo(64);
    assertThat(OpenOutputs.maxOpen(4096)).isEqualTo(256);
    assertThat(OpenOutputs.maxOpen(65_536)).isEqualTo(1024);
    assertThat(OpenOutputs.maxOpen(Long.MAX_VALUE)).isEqualTo(4096);
  }

  private static StagedRange range(int start, int end) {
    return new StagedRange(0, 0, start, end, 0);
  }

  private static OpenOutputs.Output use(OpenOutputs outputs, int shuffleId, long mapId)
      throws IOException {
    return outputs.use(OutputName.numbered(shuffleId, mapId));
  }

  private OpenOutputs open() {
    return open(Runnable::run);
  }

  private OpenOutputs open(Executor workers) {
    return new OpenOutputs(
        (shuffleId, mapId) ->
            CommittedOutputs.Files.open(directory.resolve("data"), directory.resolve("index")),
        workers);
  }

  /** The data has as many bytes as the last offset says. */
  private void writeOutput(long... offsets) throws IOException {
    ByteBuffer index = ByteBuffer.allocate(offsets.length * Long.BYTES);
    index.asLongBuffer().put(offsets);
    Files.write(directory.resolve("index"), index.array());
    Files.write(directory.resolve("data"), new byte[Math.toIntExact(offsets[offsets.length - 1])]);
  }
}
