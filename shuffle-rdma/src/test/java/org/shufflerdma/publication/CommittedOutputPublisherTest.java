/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.memory.RegisteredArena;
import scala.Option;
import scala.Tuple2;

/** Whatever goes wrong after the commit: the job's result is right and the trouble is counted. */
class CommittedOutputPublisherTest {
  private static final int MAPS = 3;
  private static final int PARTITIONS = 5;
  private static final int RECORDS = 600;
  private static final String EXECUTOR = "driver"; // of local mode

  private RdmaTransport transport;
  private RegisteredArena arena;
  private MapOutputRegistry registry;

  @BeforeEach
  void open() throws IOException {
    transport = TestTransports.open(EXECUTOR);
    arena = TestTransports.arena(transport);
    registry = new MapOutputRegistry(
        transport.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) -> {});
    PublishingManager.STATUSES.clear();
  }

  @AfterEach
  void close() {
    registry.close();
    arena.close();
    transport.close();
  }

  /** Whether the executor stages what is not registered. */
  private boolean stages;

  private CommittedOutputPublisher publisher() {
    return PublishingManager.set(PublishingManager.PUBLISHER);
  }

  /** What a map task does first. */
  private interface Beginning extends Serializable {
    void of(int attempt) throws IOException;
  }

  /** Runs a job with one shuffle, to which every map gives so many records. */
  private void runJob(int records) {
    runJob(records, Map.of(), attempt -> {});
  }

  private void runJob(int records, Map<String, String> settings, Beginning beginning) {
    PublishingManager.PUBLISHERS.set((conf, resolver) -> new CommittedOutputPublisher(
        conf,
        ChecksumMode.AUTO,
        resolver,
        registry,
        new PublishedEndpoint(
            transport.endpoint().host(),
            transport.endpoint().port(),
            transport.endpoint().bootNonce().toHex()),
        stages,
        EXECUTOR));
    SparkConf conf = new SparkConf(false)
        .setMaster("local[2]")
        .setAppName("publication")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.bindAddress", "127.0.0.1")
        .set("spark.driver.host", "127.0.0.1")
        .set("spark.shuffle.manager", PublishingManager.class.getName());
    settings.forEach(conf::set);
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      long count = context
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(map -> {
            beginning.of(TaskContext.get().attemptNumber());
            return IntStream.range(0, records).mapToObj(i -> new Tuple2<>(i, i)).iterator();
          })
          .partitionBy(new HashPartitioner(PARTITIONS))
          .count();
      assertThat(count).isEqualTo((long) MAPS * records);
    }
  }

  private void assertNothingPublished(UnpublishedReason reason) {
    assertThat(publisher().count(reason)).isEqualTo(MAPS);
    for (MapStatus status : PublishingManager.STATUSES) {
      assertThat(MapStatusCarrier.read(status, PARTITIONS)).isEmpty();
      assertThat(PublishedEndpoint.of(status.location())).isEmpty();
    }
    assertThat(registry.registeredBytes()).isZero();
    assertThat(publisher().times().count()).isZero();
  }

  @Test
  void committedOutputsCarryTheirLocationAndAreTimed() {
    runJob(RECORDS);
    assertThat(PublishingManager.STATUSES).hasSize(MAPS);
    for (MapStatus status : PublishingManager.STATUSES) {
      assertThat(MapStatusCarrier.read(status, PARTITIONS))
          .hasValueSatisfying(trailer -> assertThat(trailer.isOf(EXECUTOR)).isTrue());
      assertThat(PublishedEndpoint.of(status.location()))
          .hasValueSatisfying(endpoint ->
              assertThat(endpoint.port()).isEqualTo(transport.endpoint().port()));
    }
    assertThat(registry.published()).isEqualTo(MAPS);
    assertThat(publisher().times().count()).isEqualTo(MAPS);
    assertThat(registry.registrationTimes().count()).isEqualTo(MAPS);
    assertThat(publisher().times().totalNs())
        .isGreaterThan(registry.registrationTimes().totalNs());
    assertNoReasonCounted();
  }

  @Test
  void emptyOutputsAreNoTroubleAndPublishNothing() {
    runJob(0);
    assertThat(registry.published()).isZero();
    assertNoReasonCounted();
  }

  private void assertNoReasonCounted() {
    for (UnpublishedReason reason : UnpublishedReason.values()) {
      assertThat(publisher().count(reason)).as(reason.label()).isZero();
    }
  }

  @Test
  void anOutputWithoutRoomNamesTheExecutorThatStagesIt() {
    stages = true;
    registry.close();
    try (RegisteredArena full = TestTransports.arena(transport, 10)) {
      registry = new MapOutputRegistry(
          transport.protectionDomain(), full, TestTransports.seal(), 0, System::nanoTime);
      runJob(RECORDS);
      assertThat(publisher().count(UnpublishedReason.BUDGET)).isEqualTo(MAPS);
      for (MapStatus status : PublishingManager.STATUSES) {
        assertThat(MapStatusCarrier.read(status, PARTITIONS)).isEmpty();
        assertThat(PublishedEndpoint.of(status.location()))
            .hasValueSatisfying(endpoint ->
                assertThat(endpoint.port()).isEqualTo(transport.endpoint().port()));
      }
    }
  }

  /** Its checksums cannot be read: had they been asked for, that would be the reason. */
  @Test
  void outputThatMayNotBeRegisteredIsNotReadForItsChecksums() {
    registry.close();
    try (RegisteredArena full = TestTransports.arena(transport, 10)) {
      registry = new MapOutputRegistry(
          transport.protectionDomain(), full, TestTransports.seal(), 0, System::nanoTime);
      PublishingManager.FAULT.set(CommittedOutputPublisherTest::breakChecksumFile);
      runJob(RECORDS);
      assertNothingPublished(UnpublishedReason.BUDGET);
    }
  }

  private static void breakChecksumFile(
      IndexShuffleBlockResolver resolver, int shuffleId, long mapId, MapStatus status)
      throws IOException {
    File checksums = resolver.getChecksumFile(shuffleId, mapId, "ADLER32", Option.empty());
    Files.write(checksums.toPath(), new byte[3]);
  }

  @Test
  void brokenChecksumFileLeavesTheTaskCommitted() {
    PublishingManager.FAULT.set(CommittedOutputPublisherTest::breakChecksumFile);
    runJob(RECORDS);
    assertNothingPublished(UnpublishedReason.CHECKSUMS);
  }

  @Test
  void fileThatGrowsAfterTheCommitIsNotPublished() {
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) -> Files.write(
        resolver.getDataFile(shuffleId, mapId).toPath(),
        new byte[] {1},
        StandardOpenOption.APPEND));
    runJob(RECORDS);
    assertNothingPublished(UnpublishedReason.FILE_CHANGED);
  }

  @Test
  void failingRegistrationLeavesTheTaskCommitted() {
    arena.close();
    runJob(RECORDS);
    assertNothingPublished(UnpublishedReason.REGISTRATION);
  }

  @Test
  void statusThatCannotCarryMoreKeepsWhatItHas() {
    MapOutputTrailer earlier = new MapOutputTrailer(1, 2, 3, 4);
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) ->
        MapStatusCarrier.write(status, PARTITIONS, earlier));
    runJob(RECORDS);
    assertThat(publisher().count(UnpublishedReason.CARRIER)).isEqualTo(MAPS);
    assertThat(PublishingManager.STATUSES)
        .allSatisfy(
            status -> assertThat(MapStatusCarrier.read(status, PARTITIONS)).contains(earlier));
    assertThat(registry.registeredBytes()).isZero();
  }

  @Test
  void taskThatWasKilledAfterItsCommitPublishesNothing() {
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) -> {
      TaskContext task = TaskContext.get();
      if (task.partitionId() == 0 && task.attemptNumber() == 0) {
        task.markInterrupted("a test kills it");
      }
    });
    runJob(RECORDS);
    assertThat(PublishingManager.STATUSES).as("committed").hasSize(MAPS + 1);
    assertThat(registry.published()).isEqualTo(MAPS);
    assertNoReasonCounted();
  }

  @Test
  void taskThatFindsTheDiskFullIsTriedAgainAndPublishesOnce(@TempDir Path directory)
      throws Exception {
    assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory.toString()));
    try {
      String filler = directory.resolve("filler").toString();
      fill(Path.of(filler));
      runJob(
          RECORDS,
          Map.of("spark.master", "local[2,4]", "spark.local.dir", directory.toString()),
          attempt -> {
            if (attempt > 0) {
              Files.deleteIfExists(Path.of(filler));
            }
          });
      assertThat(Path.of(filler)).as("deleted by a second attempt").doesNotExist();
      assertThat(PublishingManager.STATUSES).hasSize(MAPS);
      assertThat(registry.published()).isEqualTo(MAPS);
      assertNoReasonCounted();
    } finally {
      registry.close(); // which unmaps what lies there
      assertThat(run("umount", directory.toString())).isTrue();
    }
  }

  private static void fill(Path file) throws IOException {
    byte[] page = new byte[4096];
    try (OutputStream out = Files.newOutputStream(file)) {
      while (true) {
        out.write(page);
      }
    } catch (IOException e) {
      assertThat(e).hasMessageContaining("No space left");
    }
  }

  private static boolean run(String... command) throws Exception {
    return new ProcessBuilder(command).start().waitFor() == 0;
  }

  @Test
  void stoppingExecutorLeavesTheTaskCommitted() {
    registry.close();
    runJob(RECORDS);
    assertNothingPublished(UnpublishedReason.CLOSED);
  }
}
