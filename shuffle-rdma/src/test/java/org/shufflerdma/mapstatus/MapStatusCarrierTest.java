/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Random;
import org.apache.spark.scheduler.HighlyCompressedMapStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.location.MapOutputTrailer;
import scala.Option;

class MapStatusCarrierTest {
  private static final BlockManagerId OWNER =
      BlockManagerId.apply("3", "worker-3", 7079, Option.apply("/rack7"));
  private static final PublishedEndpoint ENDPOINT =
      new PublishedEndpoint("10.1.2.3", 41234, "0123456789abcdef0123456789abcdef");
  private static final long MAP_ID = 77;

  private static MapStatus status(int partitions, long size) {
    long[] sizes = new long[partitions];
    for (int i = 0; i < partitions; i += 2) {
      sizes[i] = size;
    }
    return MapStatus.apply(OWNER, sizes, MAP_ID, 5);
  }

  private static MapStatus overTheWire(MapStatus status) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(status);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return (MapStatus) in.readObject();
    }
  }

  private static MapOutputTrailer randomTrailer(Random random) {
    return new MapOutputTrailer(
        MapOutputTrailer.hashExecutorId("3"),
        Integer.toUnsignedLong(random.nextInt()),
        random.nextInt(),
        random.nextLong());
  }

  /** The average of its other blocks is 0 in the status then: there are none. */
  @ParameterizedTest
  @ValueSource(ints = {2001, 5000})
  void trailerComesBackWhereEveryBlockThatIsNotEmptyIsLarge(int partitions) throws Exception {
    long large = 200L << 20;
    MapStatus plain = status(partitions, large);
    assertThat(plain).isInstanceOf(HighlyCompressedMapStatus.class);
    assertThat(plain.getSizeForBlock(partitions)).as("average size").isZero();
    MapStatus carrying = overTheWire(plain);
    MapOutputTrailer trailer = randomTrailer(new Random(partitions));

    assertThat(MapStatusCarrier.write(carrying, partitions, trailer)).isTrue();
    MapStatus received = overTheWire(carrying);

    assertThat(MapStatusCarrier.read(received, partitions)).contains(trailer);
    for (int i = 0; i < partitions; i++) {
      assertThat(received.getSizeForBlock(i)).isEqualTo(plain.getSizeForBlock(i));
    }
    assertThat(MapStatusCarrier.read(overTheWire(plain), partitions)).isEmpty();
  }

  /** As in a status of a later Spark; writing to the wrong field would change what Spark reads. */
  @Test
  void aFieldIsTakenOnlyIfItIsTheOnlyOneOfItsType() throws Exception {
    assertThat(MapStatusCarrier.onlyFieldOfType(PublishedEndpoint.class, int.class))
        .isEqualTo(PublishedEndpoint.class.getDeclaredField("port"));
    assertThatThrownBy(() -> MapStatusCarrier.onlyFieldOfType(MapOutputTrailer.class, long.class))
        .isInstanceOf(NoSuchFieldError.class)
        .hasMessageContaining("fields of long");
    assertThatThrownBy(() -> MapStatusCarrier.onlyFieldOfType(MapOutputTrailer.class, byte[].class))
        .isInstanceOf(NoSuchFieldError.class)
        .hasMessageContaining("0 fields");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 200, 2000, 2001, 5000})
  void trailerComesBackAndSizesStayAsTheyWere(int partitions) throws Exception {
    Random random = new Random(partitions);
    for (int round = 0; round < 100; round++) {
      MapStatus plain = status(partitions, 1 + random.nextInt(1 << 20));
      MapStatus carrying = overTheWire(plain);
      MapOutputTrailer trailer = randomTrailer(random);

      assertThat(MapStatusCarrier.write(carrying, partitions, trailer)).isTrue();
      MapStatus received = overTheWire(carrying);

      assertThat(MapStatusCarrier.read(received, partitions)).contains(trailer);
      for (int i = 0; i < partitions; i++) {
        assertThat(received.getSizeForBlock(i)).isEqualTo(plain.getSizeForBlock(i));
      }
      assertThat(received.mapId()).isEqualTo(MAP_ID);
      assertThat(received.checksumValue()).isEqualTo(5);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2000, 2001})
  void statusWithoutTrailerReadsAsNone(int partitions) {
    assertThat(MapStatusCarrier.read(status(partitions, 4096), partitions)).isEmpty();
    assertThat(MapStatusCarrier.read(status(partitions, 0), partitions)).isEmpty();
  }

  @Test
  void trailerOfAManyPartitionStatusCostsUnder200Bytes() throws Exception {
    MapStatus status = status(5000, 100);
    assertThat(status).isInstanceOf(HighlyCompressedMapStatus.class);
    int before = serializedSize(status);
    MapStatusCarrier.write(status, 5000, randomTrailer(new Random(1)));
    assertThat(serializedSize(status) - before).isLessThan(200);
  }

  private static int serializedSize(MapStatus status) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(status);
    }
    return bytes.size();
  }

  @Test
  void endpointIsAppendedToTheClustersTopology() {
    BlockManagerId published = ENDPOINT.addTo(OWNER);
    assertThat(published.topologyInfo().get())
        .isEqualTo("/rack7;shuffle-rdma=1,10.1.2.3,41234,0123456789abcdef0123456789abcdef");
    assertThat(PublishedEndpoint.of(published)).contains(ENDPOINT);
    assertThat(PublishedEndpoint.of(OWNER)).isEmpty();
    BlockManagerId bare = BlockManagerId.apply("3", "worker-3", 7079, Option.empty());
    assertThat(PublishedEndpoint.of(ENDPOINT.addTo(bare))).contains(ENDPOINT);
  }
}
