/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.apache.spark.SparkConf;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.staging.RegisteredOutput;

@Timeout(60)
class RequestedOutputsTest {
  private static final int BLOCK_BYTES = 10_000;
  private static final long BUDGET_BYTES = 1 << 20;

  @TempDir
  Path directory;

  private RdmaTransport transport;
  private RegisteredArena arena;
  private MapOutputRegistry registry;
  private DiskBlockManager disks;
  private RequestedOutputs outputs;

  @BeforeEach
  void open() throws Exception {
    transport = TestTransports.open("1");
    arena = TestTransports.arena(transport, BUDGET_BYTES);
    registry = new MapOutputRegistry(
        transport.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
    disks = new DiskBlockManager(
        new SparkConf(false).set("spark.local.dir", directory.toString()), true, false);
    outputs = new RequestedOutputs(disks, registry, ChecksumMode.AUTO);
  }

  @AfterEach
  void close() {
    outputs.close();
    registry.close();
    arena.close();
    transport.close();
    disks.stop();
  }

  private void write(int shuffleId, long mapId, int blockBytes) throws IOException {
    Files.write(dataFile(shuffleId, mapId), new byte[2 * blockBytes]);
    ByteBuffer offsets = ByteBuffer.allocate(4 * Long.BYTES)
        .putLong(0)
        .putLong(blockBytes)
        .putLong(blockBytes)
        .putLong(2L * blockBytes);
    Files.write(
        disks.getFile(new ShuffleIndexBlockId(shuffleId, mapId, 0)).toPath(), offsets.array());
  }

  private Path dataFile(int shuffleId, long mapId) {
    return disks.getFile(new ShuffleDataBlockId(shuffleId, mapId, 0)).toPath();
  }

  @Test
  void anOutputThatIsAskedForIsRegisteredAndFoundFromThenOn() throws Exception {
    write(3, 7, BLOCK_BYTES);
    outputs.open(3, 7).close();
    assertThat(outputs.registered(3, 7)).as("it is staged at first").isNull();
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 7) != null);
    RegisteredOutput at = Objects.requireNonNull(outputs.registered(3, 7));
    assertThat(at.partitions()).isEqualTo(3);
    assertThat(registry.registeredBytes()).isEqualTo(2L * BLOCK_BYTES);
    assertThat(registry.published()).isEqualTo(1);
  }

  @Test
  void aShuffleWhoseFilesAreGoneIsGivenUpAndNoOther() throws Exception {
    write(3, 7, BLOCK_BYTES);
    write(3, 8, BLOCK_BYTES);
    write(4, 9, BLOCK_BYTES);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 7) != null);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 8) != null);
    Await.until("it is registered", 20_000, () -> outputs.registered(4, 9) != null);
    Files.delete(dataFile(3, 7));
    Files.delete(dataFile(3, 8));
    Await.until(
        "the first shuffle is given up",
        20_000,
        () -> registry.registeredBytes() == 2L * BLOCK_BYTES);
    assertThat(outputs.registered(4, 9)).isNotNull();
    assertThat(outputs.registered(3, 8))
        .as("a descriptor that has been withdrawn")
        .isNull();
  }

  /** As when Spark deletes the files of a shuffle after a query, and another action writes it again. */
  @Test
  void ofAShuffleThatIsWrittenAnewTheNewOutputsStay() throws Exception {
    write(3, 7, BLOCK_BYTES);
    write(3, 8, BLOCK_BYTES);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 7) != null);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 8) != null);
    write(3, 9, BLOCK_BYTES);
    write(3, 10, BLOCK_BYTES);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 9) != null);
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 10) != null);
    RegisteredOutput kept = outputs.registered(3, 9);
    Files.delete(dataFile(3, 7));
    Files.delete(dataFile(3, 8));
    Await.until(
        "the old ones are given up", 20_000, () -> registry.registeredBytes() == 4L * BLOCK_BYTES);
    assertThat(outputs.registered(3, 9)).isEqualTo(kept);
    assertThat(outputs.registered(3, 10)).isNotNull();
  }

  @Test
  void whatFindsNoRoomOrHasAWrongIndexStaysAsItIs() throws Exception {
    write(3, 7, (int) BUDGET_BYTES);
    write(3, 8, BLOCK_BYTES);
    Files.write(dataFile(3, 8), new byte[5]);
    write(3, 6, BLOCK_BYTES);
    ByteBuffer falling = ByteBuffer.allocate(3 * Long.BYTES)
        .putLong(0)
        .putLong(3L * BLOCK_BYTES)
        .putLong(2L * BLOCK_BYTES);
    Files.write(disks.getFile(new ShuffleIndexBlockId(3, 6, 0)).toPath(), falling.array());
    write(3, 9, BLOCK_BYTES);
    outputs.registered(3, 6);
    outputs.registered(3, 7);
    outputs.registered(3, 8);
    // One thread registers one after the other.
    Await.until("it is registered", 20_000, () -> outputs.registered(3, 9) != null);
    assertThat(outputs.registered(3, 6)).isNull();
    assertThat(outputs.registered(3, 7)).isNull();
    assertThat(outputs.registered(3, 8)).isNull();
    assertThat(registry.published()).isEqualTo(1);
  }
}
