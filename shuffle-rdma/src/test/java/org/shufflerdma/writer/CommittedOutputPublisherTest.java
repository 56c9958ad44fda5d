/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.MapStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.location.MapStatusCarrier;
import org.shufflerdma.location.PublishedEndpoint;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.writer.CommittedOutputPublisher.Trouble;
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

  private CommittedOutputPublisher publisher() {
    return PublishingManager.set(PublishingManager.PUBLISHER);
  }

  /** Runs a job with one shuffle, of which only {@code records} of every map are not filtered. */
  private void runJob(int records) {
    PublishingManager.PUBLISHERS.set((conf, resolver) -> new CommittedOutputPublisher(
        conf,
        ChecksumMode.AUTO,
        resolver,
        registry,
        new PublishedEndpoint(
            transport.endpoint().host(),
            transport.endpoint().port(),
            transport.endpoint().bootNonce().toHex()),
        EXECUTOR));
    SparkConf conf = new SparkConf(false)
        .setMaster("local[2]")
        .setAppName("publication")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.bindAddress", "127.0.0.1")
        .set("spark.driver.host", "127.0.0.1")
        .set("spark.shuffle.manager", PublishingManager.class.getName());
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      long count = context
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(map ->
              IntStream.range(0, records).mapToObj(i -> new Tuple2<>(i, i)).iterator())
          .partitionBy(new HashPartitioner(PARTITIONS))
          .count();
      assertThat(count).isEqualTo((long) MAPS * records);
    }
  }

  private void assertNothingPublished(Trouble trouble) {
    assertThat(publisher().count(trouble)).isEqualTo(MAPS);
    for (MapStatus status : PublishingManager.STATUSES) {
      assertThat(MapStatusCarrier.read(status, PARTITIONS)).isEmpty();
      assertThat(PublishedEndpoint.of(status.location())).isEmpty();
    }
    assertThat(registry.registeredBytes()).isZero();
  }

  @Test
  void committedOutputsCarryTheirLocation() {
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
    for (Trouble trouble : Trouble.values()) {
      assertThat(publisher().count(trouble)).as(trouble.label()).isZero();
    }
  }

  @Test
  void emptyOutputsAreNoTroubleAndPublishNothing() {
    runJob(0);
    assertThat(registry.published()).isZero();
    for (Trouble trouble : Trouble.values()) {
      assertThat(publisher().count(trouble)).as(trouble.label()).isZero();
    }
  }

  @Test
  void exhaustedLimitLeavesTheTaskCommitted() {
    registry.close();
    try (RegisteredArena full = TestTransports.arena(transport, 10)) {
      registry = new MapOutputRegistry(
          transport.protectionDomain(), full, TestTransports.seal(), 0, System::nanoTime);
      runJob(RECORDS);
      assertNothingPublished(Trouble.BUDGET);
    }
  }

  @Test
  void brokenChecksumFileLeavesTheTaskCommitted() {
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) -> {
      File checksums = resolver.getChecksumFile(shuffleId, mapId, "ADLER32", Option.empty());
      Files.write(checksums.toPath(), new byte[3]);
    });
    runJob(RECORDS);
    assertNothingPublished(Trouble.CHECKSUMS);
  }

  @Test
  void fileThatGrowsAfterTheCommitIsNotPublished() {
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) -> Files.write(
        resolver.getDataFile(shuffleId, mapId).toPath(),
        new byte[] {1},
        StandardOpenOption.APPEND));
    runJob(RECORDS);
    assertNothingPublished(Trouble.FILE_CHANGED);
  }

  @Test
  void failingRegistrationLeavesTheTaskCommitted() {
    arena.close();
    runJob(RECORDS);
    assertNothingPublished(Trouble.REGISTRATION);
  }

  @Test
  void statusThatCannotCarryMoreKeepsWhatItHas() {
    MapOutputTrailer earlier = new MapOutputTrailer(1, 2, 3, 4);
    PublishingManager.FAULT.set((resolver, shuffleId, mapId, status) ->
        MapStatusCarrier.write(status, PARTITIONS, earlier));
    runJob(RECORDS);
    assertThat(publisher().count(Trouble.CARRIER)).isEqualTo(MAPS);
    assertThat(PublishingManager.STATUSES)
        .allSatisfy(
            status -> assertThat(MapStatusCarrier.read(status, PARTITIONS)).contains(earlier));
    assertThat(registry.registeredBytes()).isZero();
  }

  @Test
  void stoppingExecutorLeavesTheTaskCommitted() {
    registry.close();
    runJob(RECORDS);
    assertNothingPublished(Trouble.CLOSED);
  }
}
