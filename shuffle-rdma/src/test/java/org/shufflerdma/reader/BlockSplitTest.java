/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.FetchFailed;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

class BlockSplitTest {
  private static final int SHUFFLE = 4;
  private static final int PARTITIONS = 8;
  private static final long LARGE = 1_000_000;
  private static final BlockManagerId SELF =
      BlockManagerId.apply("1", "worker-3", 7079, Option.empty());
  private static final BlockManagerId PLAIN_OWNER =
      BlockManagerId.apply("3", "worker-3", 7079, Option.empty());
  private static final BlockManagerId OWNER = new PublishedEndpoint(
          "10.1.2.3", 41234, "0123456789abcdef0123456789abcdef")
      .addTo(PLAIN_OWNER);

  /** Maps 0 and 1 are registered, map 2 is not published, and map 3 is to be staged. */
  private static LocationTable.Shuffle locations() throws Exception {
    MapStatus[] statuses = new MapStatus[4];
    for (int map = 0; map < statuses.length; map++) {
      statuses[map] = MapStatus.apply(PLAIN_OWNER, new long[PARTITIONS], 70 + map, 0);
      if (map < 2) {
        MapStatusCarrier.write(
            statuses[map],
            PARTITIONS,
            new MapOutputTrailer(MapOutputTrailer.hashExecutorId("3"), 5, 6, 4096));
      }
      if (map != 2) {
        statuses[map].updateLocation(OWNER);
      }
    }
    return LocationTable.decode(statuses, SHUFFLE, PARTITIONS);
  }

  private static Tuple3<BlockId, Object, Object> block(int map, int partition, long bytes) {
    return new Tuple3<>(new ShuffleBlockId(SHUFFLE, 70 + map, partition), bytes, map);
  }

  @SafeVarargs
  @SuppressWarnings("varargs") // List.of copies them
  private static BlockSplit split(
      BlockManagerId at, boolean batches, Tuple3<BlockId, Object, Object>... blocks)
      throws Exception {
    return split(SELF, at, true, false, batches, blocks);
  }

  @SafeVarargs
  @SuppressWarnings("varargs") // List.of copies them
  private static BlockSplit split(
      BlockManagerId self,
      BlockManagerId at,
      boolean readsOwn,
      boolean readsDisksOfHost,
      boolean batches,
      Tuple3<BlockId, Object, Object>... blocks)
      throws Exception {
    BlockSplit split =
        new BlockSplit(locations(), self, readsOwn, readsDisksOfHost, LARGE, batches);
    split.addAll(
        BlockSplit.scalaSeq(List.of(new Tuple2<>(at, BlockSplit.scalaSeq(List.of(blocks)))))
            .iterator());
    return split;
  }

  private static List<String> names(List<Tuple3<BlockId, Object, Object>> blocks) {
    return blocks.stream().map(block -> block._1().name()).toList();
  }

  private static List<String> direct(BlockSplit split) {
    List<String> names = new ArrayList<>();
    for (DirectSource source : split.direct()) {
      for (int i = 0; i < source.reads().size(); i++) {
        names.add(source.id(i).name());
      }
    }
    return names;
  }

  private static List<String> others(BlockSplit split) {
    List<String> names = new ArrayList<>();
    for (Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> at : split.others()) {
      Iterator<Tuple3<BlockId, Object, Object>> blocks = at._2().iterator();
      while (blocks.hasNext()) {
        names.add(blocks.next()._1().name());
      }
    }
    return names;
  }

  @Test
  void blocksWithALocationAreReadDirectlyAndTheOthersAreSparks() throws Exception {
    BlockSplit split = split(
        OWNER,
        false,
        block(0, 1, 10),
        block(0, 2, LARGE + 1),
        block(1, 1, 10),
        block(2, 1, 10),
        block(3, 1, 10));
    assertThat(direct(split)).containsExactly("shuffle_4_70_1", "shuffle_4_71_1", "shuffle_4_73_1");
    assertThat(others(split)).containsExactly("shuffle_4_70_2", "shuffle_4_72_1");
  }

  @Test
  void ownBlocksAreReadDirectlyAsWell() throws Exception {
    BlockSplit split = split(
        OWNER,
        OWNER,
        true,
        true,
        false,
        block(0, 1, 10),
        block(1, 1, LARGE + 1),
        block(2, 1, 10),
        block(3, 1, 10));
    assertThat(direct(split)).containsExactly("shuffle_4_70_1");
    assertThat(split.direct().get(0).isOwn()).isTrue();
    assertThat(others(split))
        .as("an own output that is not registered is read from its file")
        .containsExactly("shuffle_4_71_1", "shuffle_4_72_1", "shuffle_4_73_1");
  }

  @Test
  void ownBlocksAreSparksAfterTheConnectionToItselfFailed() throws Exception {
    OwnReads reads = new OwnReads();
    reads.failed(TcpReason.WITHDRAWN, new IOException("of one block"));
    assertThat(reads.areByRdma()).isTrue();
    reads.failed(TcpReason.CANARY, new IOException("of the connection"));
    BlockSplit split = split(OWNER, OWNER, reads.areByRdma(), false, false, block(0, 1, 10));
    assertThat(split.direct()).isEmpty();
    assertThat(others(split)).containsExactly("shuffle_4_70_1");
  }

  /** Own blocks need nothing of what is in flight in the network. */
  @Test
  void theBytesInFlightArePartedByThoseThatCrossTheNetwork() throws Exception {
    BlockSplit own = split(OWNER, OWNER, true, false, false, block(0, 1, LARGE), block(2, 1, 10));
    assertThat(own.otherPartOf(100)).isEqualTo(100);
    BlockSplit remote = split(OWNER, false, block(0, 1, 600), block(2, 1, 400));
    assertThat(remote.directPartOf(100)).isEqualTo(60);
    assertThat(remote.otherPartOf(100)).isEqualTo(40);
    assertThat(remote.directPartOf(0)).as("maxSizeInFlight below 1m").isEqualTo(1);
  }

  @Test
  void blocksOfThisHostAreSparksWhereItReadsTheDisksOfTheHost() throws Exception {
    BlockSplit split = split(SELF, OWNER, true, true, false, block(0, 1, 10));
    assertThat(split.direct()).isEmpty();
    assertThat(others(split)).containsExactly("shuffle_4_70_1");
  }

  /** Spark's iterator takes partitions with empty ones between them for one block, too. */
  @Test
  void partitionsOfAMapOutputAreOneBlockWhereBatchesAreAllowed() throws Exception {
    BlockSplit split = split(
        OWNER,
        true,
        block(0, 1, 10),
        block(0, 2, 10),
        block(0, 4, 10),
        block(1, 4, 10),
        block(1, 5, 10));
    assertThat(direct(split)).containsExactly("shuffle_4_70_1_5", "shuffle_4_71_4_6");
  }

  /** Spark's protocol cannot ask for two ranges of a map output, or for a range beside a partition. */
  @Test
  void aBatchThatIsLeftIsLeftPartitionByPartition() throws Exception {
    BlockSplit split =
        split(OWNER, true, block(0, 1, 10), block(0, 2, 10), block(0, 4, 10), block(1, 4, 10));
    DirectSource source = split.direct().get(0);
    source.leave(0);
    assertThat(names(source.takeLeft()))
        .containsExactly("shuffle_4_70_1", "shuffle_4_70_2", "shuffle_4_70_4");
    source.leave(1);
    assertThat(names(source.takeLeft())).containsExactly("shuffle_4_71_4");
    assertThat(source.takeLeft()).isEmpty();
  }

  /** Spark takes all that lies between two blocks of a map output for one batch with them. */
  @Test
  void aMapOutputWithALargeBlockIsSparksWholeWhereBatchesAreAllowed() throws Exception {
    BlockSplit split = split(
        OWNER,
        true,
        block(0, 3, LARGE + 1),
        block(0, 4, 10),
        block(0, 5, LARGE + 1),
        block(1, 4, 10));
    assertThat(others(split)).containsExactly("shuffle_4_70_3", "shuffle_4_70_4", "shuffle_4_70_5");
    assertThat(direct(split)).containsExactly("shuffle_4_71_4");
  }

  @Test
  void aFailureNamesTheFirstPartitionAndTheMapOfItsBlock() throws Exception {
    DirectSource source =
        split(OWNER, true, block(1, 2, 10), block(1, 3, 10)).direct().get(0);
    FetchFailed failure = (FetchFailed)
        source.fetchFailed(0, new IllegalStateException("of a test")).toTaskFailedReason();
    assertThat(failure.bmAddress()).isEqualTo(OWNER);
    assertThat(failure.shuffleId()).isEqualTo(SHUFFLE);
    assertThat(failure.mapId()).isEqualTo(71);
    assertThat(failure.mapIndex()).isEqualTo(1);
    assertThat(failure.reduceId()).isEqualTo(2);
    assertThat(failure.message()).contains("of a test");
  }
}
