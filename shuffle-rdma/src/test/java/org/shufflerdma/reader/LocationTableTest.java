/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;
import scala.Option;

class LocationTableTest {
  private static final int SHUFFLE = 4;
  private static final long MAP_ID = 77;
  private static final BlockManagerId OWNER =
      BlockManagerId.apply("3", "worker-3", 7079, Option.apply("/rack7"));
  private static final PublishedEndpoint ENDPOINT =
      new PublishedEndpoint("10.1.2.3", 41234, "0123456789abcdef0123456789abcdef");

  @Test
  void tableTellsUsableMigratedAndUnpublishedOutputsApart() throws Exception {
    MapStatus usable = published(MAP_ID);
    MapStatus migrated = published(78);
    migrated.updateLocation(
        ENDPOINT.addTo(BlockManagerId.apply("4", "worker-4", 7079, Option.empty())));
    MapStatus unpublished = MapStatus.apply(OWNER, new long[8], 79, 0);
    MapStatus unregistered = MapStatus.apply(OWNER, new long[8], 80, 0);
    unregistered.updateLocation(ENDPOINT.addTo(OWNER));

    LocationTable.Shuffle shuffle = LocationTable.decode(
        Arrays.asList(usable, null, migrated, unpublished, unregistered).toArray(MapStatus[]::new),
        SHUFFLE,
        8);

    assertThat(shuffle.locationOf(MAP_ID))
        .isEqualTo(new MapOutputLocation(
            new PeerId("3", new RdmaEndpoint("10.1.2.3", 41234, Nonce.ofHex(ENDPOINT.nonceHex()))),
            new DescriptorRef(4096, 6, 5, SHUFFLE, MAP_ID, 8)));
    assertThat(shuffle.locationOf(78)).isNull();
    assertThat(shuffle.absenceOf(78)).isEqualTo(TcpReason.MIGRATED);
    assertThat(shuffle.locationOf(79)).isNull();
    assertThat(shuffle.absenceOf(79)).isEqualTo(TcpReason.NO_LOCATION);
    assertThat(shuffle.locationAt(4, 80))
        .isEqualTo(new MapOutputLocation(
            new PeerId("3", new RdmaEndpoint("10.1.2.3", 41234, Nonce.ofHex(ENDPOINT.nonceHex()))),
            DescriptorRef.unregistered(SHUFFLE, 80, 8)));
    assertThat(shuffle.locationOf(80)).as("to be staged").isEqualTo(shuffle.locationAt(4, 80));
  }

  @Test
  void statusesAreDecodedOnceAndTheirLocationsGoWithThem() throws Exception {
    MapOutputTrackerWorker tracker = new MapOutputTrackerWorker(new SparkConf(false));
    LocationTable table = new LocationTable(tracker);
    tracker.mapStatuses().put(SHUFFLE, new MapStatus[] {published(MAP_ID)});
    WeakReference<LocationTable.Shuffle> first = new WeakReference<>(table.locationsOf(SHUFFLE, 8));
    assertThat(table.locationsOf(SHUFFLE, 8)).isSameAs(first.get());

    tracker.mapStatuses().put(SHUFFLE, new MapStatus[] {published(MAP_ID)});
    for (int i = 0; i < 100 && !first.refersTo(null); i++) {
      System.gc();
      assertThat(table.locationsOf(SHUFFLE, 8)).isNotSameAs(first.get());
      Thread.sleep(10);
    }
    assertThat(first.refersTo(null)).isTrue();
    assertThat(table.locationsOf(SHUFFLE, 8).locationOf(MAP_ID)).isNotNull();
  }

  private static MapStatus published(long mapId) throws Exception {
    MapStatus status = MapStatus.apply(OWNER, new long[8], mapId, 0);
    MapStatusCarrier.write(
        status, 8, new MapOutputTrailer(MapOutputTrailer.hashExecutorId("3"), 5, 6, 4096));
    status.updateLocation(ENDPOINT.addTo(OWNER));
    return status;
  }
}
