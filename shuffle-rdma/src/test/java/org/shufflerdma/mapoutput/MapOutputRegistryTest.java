/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.mapoutput.NotPublishedException.Reason;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.TestDevice;

class MapOutputRegistryTest {
  private static final int SHUFFLE = 4;

  @TempDir
  Path directory;

  private RdmaTransport transport;
  private RegisteredArena arena;
  private long regionsBefore;
  private final AtomicLong nowNs = new AtomicLong();

  @BeforeEach
  void open() throws IOException {
    transport = TestTransports.open("1");
    arena = new RegisteredArena(transport.protectionDomain());
    arena.allocate(1).close(); // its first chunk is not what the tests count
    regionsBefore = TestDevice.live().regions();
  }

  @AfterEach
  void close() {
    arena.close();
    transport.close();
  }

  private MapOutputRegistry registry(long maxRegisteredBytes, long graceMs) {
    return new MapOutputRegistry(
        transport.protectionDomain(), arena, maxRegisteredBytes, graceMs, nowNs::get);
  }

  private MapOutputFile output(long mapId, long... lengths) throws IOException {
    Path file = directory.resolve("shuffle_" + SHUFFLE + "_" + mapId + "_0.data");
    Files.write(file, new byte[Math.toIntExact(Arrays.stream(lengths).sum())]);
    return new MapOutputFile(
        SHUFFLE, mapId, file, lengths, PartitionChecksums.compute(file, lengths));
  }

  private long regions() throws IOException {
    return TestDevice.live().regions() - regionsBefore;
  }

  private void awaitNoRegions() throws Exception {
    Deadline deadline = Deadline.afterMs(10_000);
    while (regions() > 0) {
      assertThat(deadline.expired()).as("regions are given back in time").isFalse();
      TimeUnit.MILLISECONDS.sleep(2);
    }
  }

  @Test
  void removedShuffleIsGivenBackAfterItsGrace() throws Exception {
    try (MapOutputRegistry registry = registry(1 << 20, 50)) {
      registry.publish(output(1, 100, 0, 200));
      registry.publish(output(2, 50));
      assertThat(registry.registeredBytes()).isEqualTo(350);
      assertThat(registry.published()).isEqualTo(2);
      assertThat(regions()).isEqualTo(2);

      registry.removeShuffle(SHUFFLE);

      awaitNoRegions();
      assertThat(registry.registeredBytes()).isZero();
    }
  }

  @Test
  void closeDoesNotWaitForTheGrace() throws Exception {
    MapOutputRegistry registry = registry(1 << 20, 600_000);
    registry.publish(output(1, 100));
    registry.publish(output(2, 100));
    registry.removeShuffle(SHUFFLE);
    registry.publish(output(3, 100));
    assertThat(regions()).isEqualTo(3);
    registry.close();
    registry.close();
    assertThat(regions()).isZero();
    assertThat(registry.registeredBytes()).isZero();
  }

  @Test
  void generationsAreNeverUsedTwice() throws Exception {
    try (MapOutputRegistry registry = registry(1 << 20, 0)) {
      PublishedOutput first = registry.publish(output(1, 10));
      registry.retract(SHUFFLE, first);
      PublishedOutput second = registry.publish(output(1, 10));
      assertThat(second.generation()).isNotEqualTo(first.generation());
    }
  }

  @Test
  void outputBeyondTheLimitStaysUnpublishedUntilThereIsRoom() throws Exception {
    try (MapOutputRegistry registry = registry(250, 0)) {
      PublishedOutput first = registry.publish(output(1, 200));
      assertRefused(registry, output(2, 51), Reason.BUDGET);
      registry.publish(output(3, 50));
      registry.retract(SHUFFLE, first);
      registry.publish(output(4, 200));
      assertThat(registry.registeredBytes()).isEqualTo(250);
    }
  }

  @Test
  void fileThatIsNotAsLongAsItsPartitionsIsRefused() throws Exception {
    try (MapOutputRegistry registry = registry(1 << 20, 0)) {
      MapOutputFile output = output(1, 100);
      Files.write(output.dataFile(), new byte[99]);
      assertRefused(registry, output, Reason.FILE_CHANGED);
      assertThat(regions()).isZero();
      assertThat(registry.registeredBytes()).isZero();
    }
  }

  @Test
  void failingRegistrationsPauseFurtherOnesForAWhile() throws Exception {
    try (MapOutputRegistry registry = registry(1 << 20, 0)) {
      MapOutputFile gone = output(1, 100);
      Files.delete(gone.dataFile());
      for (int i = 0; i < 5; i++) {
        assertRefused(registry, gone, Reason.REGISTRATION);
      }
      assertRefused(registry, output(2, 10), Reason.REGISTRATION_PAUSED);
      nowNs.addAndGet(TimeUnit.SECONDS.toNanos(61));
      registry.publish(output(2, 10));
      assertThat(registry.registeredBytes()).isEqualTo(10);
    }
  }

  @Test
  void closedRegistryPublishesNothing() throws Exception {
    MapOutputRegistry registry = registry(1 << 20, 0);
    registry.close();
    assertRefused(registry, output(1, 10), Reason.CLOSED);
    assertThat(regions()).isZero();
  }

  private static void assertRefused(
      MapOutputRegistry registry, MapOutputFile output, Reason reason) {
    assertThatThrownBy(() -> registry.publish(output))
        .isInstanceOfSatisfying(
            NotPublishedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }
}
