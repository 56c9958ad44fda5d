/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.FileRegionCost;
import org.shufflerdma.verbs.ProcessLimits;
import org.shufflerdma.verbs.TestDevice;

class MapOutputRegistryTest {
  private static final int SHUFFLE = 4;
  private static final int NO_GRACE = 0;
  private static final int ENDLESS_GRACE = 600_000;
  private static final int CLOSE_MS = 10_000;
  private static final int AWAIT_MS = 10_000;

  /** What the budget counts in: each output of these tests has whole pages. */
  private static final int PAGE = 4096;

  @TempDir
  Path directory;

  private RdmaTransport transport;
  private RegisteredArena arena;
  private long arenaBytes;
  private long regionsBefore;
  private final AtomicLong nowNs = new AtomicLong();

  @BeforeEach
  void open() throws IOException {
    transport = TestTransports.open("1");
    openArena(1 << 20);
  }

  /** For so many bytes of map outputs, beside the descriptors. */
  private void openArena(int outputBytes) throws IOException {
    int eighth = (outputBytes / 7 + PAGE - 1) / PAGE * PAGE;
    arena = TestTransports.arena(transport, outputBytes + eighth);
    arena.allocate(1).close(); // its first chunk is not what the tests count
    arenaBytes = arena.registeredBytes();
    assertThat(arena.budget().limitBytes() - arenaBytes).isEqualTo(outputBytes);
    regionsBefore = TestDevice.live().regions();
  }

  @AfterEach
  void close() {
    arena.close();
    assertThat(arena.budget().usedBytes()).isZero();
    transport.close();
  }

  private MapOutputRegistry registry(long graceMs) {
    return new MapOutputRegistry(
        transport.protectionDomain(), arena, TestTransports.seal(), graceMs, nowNs::get);
  }

  private MapOutputRegistry registry(
      ProcessLimits limits, long graceMs, Predicate<Path> diskIsLow, int closeMs) {
    return new MapOutputRegistry(
        transport.protectionDomain(),
        arena,
        OutputPaging.PINNED,
        limits,
        TestTransports.seal(),
        graceMs,
        nowNs::get,
        diskIsLow,
        closeMs);
  }

  private MapOutputRegistry registry(int outputPages, long graceMs) throws IOException {
    arena.close();
    openArena(outputPages * PAGE);
    return registry(graceMs);
  }

  private MapOutputFile output(long mapId, long... lengths) throws IOException {
    return outputOf(SHUFFLE, mapId, lengths);
  }

  private MapOutputFile outputOf(int shuffleId, long mapId, long... lengths) throws IOException {
    Path file = directory.resolve("shuffle_" + shuffleId + "_" + mapId + "_0.data");
    Files.write(file, new byte[Math.toIntExact(Arrays.stream(lengths).sum())]);
    return new MapOutputFile(
        shuffleId, mapId, file, lengths, PartitionChecksums.compute(file, lengths));
  }

  private List<PublishedOutput> publish(MapOutputRegistry registry, int shuffleId, int maps)
      throws Exception {
    List<PublishedOutput> outputs = new ArrayList<>();
    for (int map = 0; map < maps; map++) {
      outputs.add(registry.publish(outputOf(shuffleId, map, PAGE)));
    }
    return outputs;
  }

  private static List<Boolean> readable(List<PublishedOutput> outputs) {
    return outputs.stream().map(PublishedOutput::isReadable).toList();
  }

  private long regions() throws IOException {
    return TestDevice.live().regions() - regionsBefore;
  }

  @Test
  void removedShuffleIsGivenBackAfterItsGrace() throws Exception {
    try (MapOutputRegistry registry = registry(50)) {
      registry.publish(output(1, 100, 0, 200));
      registry.publish(output(2, 50));
      assertThat(registry.registeredBytes()).isEqualTo(350);
      assertThat(registry.published()).isEqualTo(2);
      assertThat(regions()).isEqualTo(2);

      registry.removeShuffle(SHUFFLE);

      Await.until("regions are given back", AWAIT_MS, () -> regions() == 0);
      Await.until("bytes are given back", AWAIT_MS, () -> registry.registeredBytes() == 0);
    }
  }

  @Test
  void aRemovedShuffleIsGivenBackSoonerIfNoTaskUsesIt() throws Exception {
    try (MapOutputRegistry registry = registry(8_000)) {
      registry.publish(outputOf(1, 1, 100));
      registry.publish(outputOf(2, 1, 50));
      MapOutputRegistry.Use reader = registry.use(2);

      registry.removeShuffle(2);
      registry.removeShuffle(1);

      Await.until(
          "the one that no task uses is given back",
          AWAIT_MS,
          () -> registry.registeredBytes() == 50);
      assertThat(regions()).isEqualTo(1);
      reader.close();
    }
  }

  @Test
  void closeDoesNotWaitForTheGrace() throws Exception {
    MapOutputRegistry registry = registry(ENDLESS_GRACE);
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
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      PublishedOutput first = registry.publish(output(1, 10));
      registry.retract(SHUFFLE, first);
      PublishedOutput second = registry.publish(output(1, 10));
      assertThat(second.generation()).isNotEqualTo(first.generation());
    }
  }

  @Test
  void noRegisteredOutputMakesRoomForAnother() throws Exception {
    try (MapOutputRegistry registry = registry(4, NO_GRACE)) {
      List<PublishedOutput> first = publish(registry, 1, 3);
      assertRefused(registry, outputOf(2, 0, 2 * PAGE), UnpublishedReason.BUDGET);
      List<PublishedOutput> second = publish(registry, 2, 1);
      assertRefused(registry, outputOf(2, 1, PAGE), UnpublishedReason.BUDGET);
      assertThat(readable(first)).containsOnly(true);
      assertThat(readable(second)).containsOnly(true);
      registry.removeShuffle(1);
      Await.until("its room is given back", AWAIT_MS, () -> registry.registeredBytes() == PAGE);
      assertThat(readable(publish(registry, 3, 3))).containsOnly(true);
      assertThat(regions()).isEqualTo(4);
    }
  }

  private FileRegionCost costOfOutput() {
    return transport.protectionDomain().costOfFile(OutputPaging.PINNED.access());
  }

  @Test
  void aRegisteredOutputKeepsNoDescriptorAndNoMappingThatTheDeviceDoesNotNeed() throws Exception {
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      MapOutputFile output = output(1, 100);
      PublishedOutput published = registry.publish(output);
      assertThat(descriptorsOf(output.dataFile())).isEqualTo(costOfOutput().descriptors());
      assertThat(mappingsOf(output.dataFile())).isEqualTo(costOfOutput().mappings());
      registry.retract(SHUFFLE, published);
      assertThat(descriptorsOf(output.dataFile())).isZero();
      assertThat(mappingsOf(output.dataFile())).isZero();
    }
  }

  private static long descriptorsOf(Path file) throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(descriptor -> refersTo(descriptor, file)).count();
    }
  }

  private static boolean refersTo(Path descriptor, Path file) {
    try {
      return Files.readSymbolicLink(descriptor).equals(file.toRealPath());
    } catch (IOException e) {
      return false; // that of the listing itself
    }
  }

  private static long mappingsOf(Path file) throws IOException {
    try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
      String name = file.toRealPath().toString();
      return mappings.filter(mapping -> mapping.endsWith(name)).count();
    }
  }

  @Test
  void outputsBeyondTheShareOfMappingsAreRefusedUntilOthersHaveLeft() throws Exception {
    assertBound(new ProcessLimits(Long.MAX_VALUE, 8), costOfOutput().mappings());
  }

  @Test
  void outputsBeyondTheShareOfDescriptorsAreRefusedUntilOthersHaveLeft() throws Exception {
    assertBound(
        new ProcessLimits(OutputRoom.RESERVED_DESCRIPTORS + 8, Long.MAX_VALUE),
        costOfOutput().descriptors());
  }

  /** Of eight, two may be those of outputs. */
  private void assertBound(ProcessLimits limits, int costOfOutput) throws Exception {
    assumeThat(costOfOutput).as("this device keeps one for each output").isEqualTo(1);
    try (MapOutputRegistry registry = registry(limits, NO_GRACE, path -> false, CLOSE_MS)) {
      publish(registry, 1, 2);
      assertRefused(registry, outputOf(2, 0, PAGE), UnpublishedReason.DESCRIPTORS);
      try (MapOutputRegistry.Use use = registry.use(2)) {
        assertRefused(
            () -> {
              use.admit(PAGE);
              return use.publish(outputOf(2, 0, PAGE));
            },
            UnpublishedReason.DESCRIPTORS);
      }
      MapOutputFile gone = outputOf(2, 1, PAGE);
      Files.delete(gone.dataFile());
      registry.removeShuffle(1);
      Await.until("the first are given back", AWAIT_MS, () -> regions() == 0);
      for (int i = 0; i < 3; i++) { // what fails keeps no place
        assertRefused(registry, gone, UnpublishedReason.REGISTRATION);
      }
      publish(registry, 2, 2);
      assertThat(regions()).isEqualTo(2);
    }
  }

  @Test
  void deletedFilesAreCountedAndGivenUpAtOnceWhenTheirDiskRunsLow() throws Exception {
    assumeThat(costOfOutput().keepsFile()).as("this device keeps deleted files").isTrue();
    AtomicBoolean low = new AtomicBoolean();
    Predicate<Path> diskIsLow = asked -> asked.equals(directory) && low.get();
    try (MapOutputRegistry registry =
        registry(ProcessLimits.read(), ENDLESS_GRACE, diskIsLow, CLOSE_MS)) {
      registry.publish(outputOf(1, 1, 100));
      registry.publish(outputOf(2, 1, 50));
      registry.removeShuffle(1);
      assertThat(registry.deletedBytes()).isEqualTo(100);
      low.set(true);
      Await.until("the file is given up", AWAIT_MS, () -> registry.deletedBytes() == 0);
      Await.until("one region is given back", AWAIT_MS, () -> regions() == 1);
      Await.until("its bytes, too", AWAIT_MS, () -> registry.registeredBytes() == 50);
      registry.removeShuffle(2);
      Await.until("the other, too", AWAIT_MS, () -> regions() == 0);
    }
  }

  @Test
  void aShuffleIsRemovedWhileAnOutputOfItIsBeingRegistered() throws Exception {
    try (MapOutputRegistry registry = registry(2, NO_GRACE)) {
      HeldUpFile file = new HeldUpFile(outputOf(2, 1, PAGE));
      FutureTask<PublishedOutput> publication =
          new FutureTask<>(() -> registry.publish(file.output));
      new Thread(publication).start();
      file.awaitOpening();
      Thread removal = new Thread(() -> registry.removeShuffle(2));
      removal.start();
      Await.until("the removal waits for nothing", AWAIT_MS, () -> !removal.isAlive());
      file.mayBeOpened.countDown();
      assertRefused(() -> resultOf(publication), UnpublishedReason.REMOVED);
      Await.until("all is given back", AWAIT_MS, () -> arena.budget().usedBytes() == arenaBytes);
      assertThat(regions()).isZero();
    }
  }

  @Test
  void closeWaitsForAPublicationUnderWay() throws Exception {
    MapOutputRegistry registry = registry(NO_GRACE);
    HeldUpFile file = new HeldUpFile(output(1, PAGE));
    FutureTask<PublishedOutput> publication = new FutureTask<>(() -> registry.publish(file.output));
    new Thread(publication).start();
    file.awaitOpening();
    Thread stop = new Thread(registry::close);
    stop.start();
    Await.until("the stop waits", AWAIT_MS, () -> stop.getState() == Thread.State.TIMED_WAITING);
    file.mayBeOpened.countDown();
    assertRefused(() -> resultOf(publication), UnpublishedReason.CLOSED);
    stop.join();
    assertThat(regions()).isZero();
    assertThat(arena.budget().usedBytes()).isEqualTo(arenaBytes);
  }

  @Test
  void aRegistrationThatOutlastsTheStopTouchesNothingThatIsGone() throws Exception {
    MapOutputRegistry registry = registry(ProcessLimits.read(), NO_GRACE, path -> false, 10);
    HeldUpFile file = new HeldUpFile(output(1, PAGE));
    FutureTask<PublishedOutput> publication = new FutureTask<>(() -> registry.publish(file.output));
    new Thread(publication).start();
    file.awaitOpening();
    registry.close();
    arena.close();
    file.mayBeOpened.countDown();
    assertRefused(() -> resultOf(publication), UnpublishedReason.REMOVED);
    assertThat(TestDevice.live().regions()).isEqualTo(regionsBefore - 1); // the arena's is gone
  }

  private static PublishedOutput resultOf(FutureTask<PublishedOutput> publication)
      throws Exception {
    try {
      return publication.get(10, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  /** A file whose name is not told, so that it cannot be opened, before the test allows it. */
  private static final class HeldUpFile {
    final CountDownLatch mayBeOpened = new CountDownLatch(1);
    final MapOutputFile output;
    private final CountDownLatch opening = new CountDownLatch(1);

    HeldUpFile(MapOutputFile real) {
      Object path = Proxy.newProxyInstance(
          Path.class.getClassLoader(), new Class<?>[] {Path.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("toString")) {
              opening.countDown();
              assertThat(mayBeOpened.await(20, TimeUnit.SECONDS)).isTrue();
            }
            return method.invoke(real.dataFile(), arguments);
          });
      output = new MapOutputFile(
          real.shuffleId(), real.mapId(), (Path) path, real.partitionLengths(), real.checksums());
    }

    void awaitOpening() throws InterruptedException {
      assertThat(opening.await(10, TimeUnit.SECONDS)).as("is being registered").isTrue();
    }
  }

  @Test
  void anErrorWhileAnOutputIsRegisteredLeavesNothingBehind() throws Exception {
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      Error error = new OutOfMemoryError("of a test");
      Object path = Proxy.newProxyInstance(
          Path.class.getClassLoader(), new Class<?>[] {Path.class}, (proxy, method, arguments) -> {
            throw error;
          });
      MapOutputFile real = output(1, PAGE);
      MapOutputFile file =
          new MapOutputFile(SHUFFLE, 1, (Path) path, real.partitionLengths(), real.checksums());
      assertThatThrownBy(() -> registry.publish(file)).isSameAs(error);
      assertThat(arena.budget().usedBytes()).isEqualTo(arenaBytes);
      registry.publish(real);
    }
  }

  @Test
  void outputOfAShuffleRemovedWhileItsTaskRanIsRefused() throws Exception {
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      try (MapOutputRegistry.Use task = registry.use(SHUFFLE)) {
        registry.removeShuffle(SHUFFLE);
        assertRefused(() -> task.publish(output(1, 10)), UnpublishedReason.REMOVED);
      }
      assertThat(regions()).isZero();
      registry.publish(output(2, 10)); // computed again by a task that began later
      assertThat(regions()).isEqualTo(1);
    }
  }

  @Test
  void fileThatIsNotAsLongAsItsPartitionsIsRefused() throws Exception {
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      MapOutputFile output = output(1, 100);
      Files.write(output.dataFile(), new byte[99]);
      assertRefused(registry, output, UnpublishedReason.FILE_CHANGED);
      assertThat(regions()).isZero();
      assertThat(registry.registeredBytes()).isZero();
    }
  }

  @Test
  void failingRegistrationsPauseFurtherOnesForAWhile() throws Exception {
    try (MapOutputRegistry registry = registry(NO_GRACE)) {
      MapOutputFile gone = output(1, 100);
      Files.delete(gone.dataFile());
      for (int i = 0; i < 5; i++) {
        assertRefused(registry, gone, UnpublishedReason.REGISTRATION);
      }
      MapOutputFile good = output(2, 10);
      assertRefused(registry, good, UnpublishedReason.REGISTRATION);
      assertThatThrownBy(() -> registry.publish(good)).hasMessageContaining("the next is tried in");
      nowNs.addAndGet(TimeUnit.SECONDS.toNanos(61));
      registry.publish(output(2, 10));
      assertThat(registry.registeredBytes()).isEqualTo(10);
    }
  }

  private static void assertRefused(
      MapOutputRegistry registry, MapOutputFile output, UnpublishedReason reason) {
    assertRefused(() -> registry.publish(output), reason);
  }

  private static void assertRefused(
      Callable<PublishedOutput> publication, UnpublishedReason reason) {
    assertThatThrownBy(publication::call)
        .isInstanceOfSatisfying(
            NotPublishedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }
}
