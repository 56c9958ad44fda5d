/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.FetchOutcome;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.staging.RegisteredOutput;

/** Blocks of map outputs of which nothing is registered, so that their owner stages them. */
class StagedFetchTest extends StagedScene {
  @Test
  void blocksOfAllSizesComeWhole() throws Exception {
    commit(1, 100, 20_000, 0, 3_000);
    commit(2, 64, 3_000_000);
    commit(3, LOAN_BYTES, LOAN_BYTES + 1, 2 * LOAN_BYTES, LOAN_BYTES - 1);
    List<Block> blocks = new ArrayList<>(List.of(
        new Block(1, 0, 1),
        new Block(1, 1, 2),
        new Block(1, 1, 4),
        new Block(2, 1, 2),
        new Block(2, 0, 2),
        new Block(3, 0, 1),
        new Block(3, 1, 2),
        new Block(3, 2, 3),
        new Block(3, 3, 4)));
    for (int mapId = 10; mapId < 600; mapId++) { // more than stay open
      commit(mapId, 100, 7_000);
      blocks.add(new Block(mapId, 1, 2));
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.stats().bytesStaged.sum())
        .isGreaterThanOrEqualTo(
            blocks.stream().mapToLong(block -> expected(block).length).sum());
    assertThat(owner.staging.registeredBytes()).isBetween(1L, 2L * SLAB_BYTES);
  }

  @Test
  void manySmallBlocksShareRequests() throws Exception {
    long[] lengths = new long[512];
    Arrays.fill(lengths, 100);
    commit(1, lengths);
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      blocks.add(new Block(1, i, i + 1));
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.stats().requests.sum()).isEqualTo(2); // 256 blocks in each
  }

  /** It comes in one buffer, which a large one must not take. */
  @Test
  void aStagedBlockThatIsWantedInAFileIsWrittenUnlessItIsLarge() throws Exception {
    commit(1, 50_000, 20_000_000);
    CollectingListener listener = new CollectingListener(2);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DescriptorRef output = DescriptorRef.unregistered(SHUFFLE_ID, 1, 2);
    reader.fetcher.fetch(
        peer(),
        null,
        List.of(
            new BlockRequest(
                0, output, 0, 1, piece -> Channels.newChannel(bytes).write(piece)),
            new BlockRequest(1, output, 1, 2, piece -> {
              throw new AssertionError("nothing of it is written");
            })),
        listener);
    assertThat(listener.await().streamed).isEqualTo(Map.of(0L, 50_000L));
    assertThat(bytes.toByteArray()).isEqualTo(expected(new Block(1, 0, 1)));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.TOO_LARGE));
  }

  /** The owner registers what it is asked for, and says so in a reply. */
  @Test
  void anOutputThatItsOwnerHasRegisteredIsReadWithoutBeingStaged() throws Exception {
    commit(1, 3_000, 4_000);
    try (RegisteredArena arena = TestTransports.arena(owner.transport);
        TestMapOutput output = TestMapOutput.publish(
            owner.transport.protectionDomain(), arena, directory, 1, 3_000, 4_000)) {
      Files.copy(
          directory.resolve("shuffle_3_1_0.data"), data(1), StandardCopyOption.REPLACE_EXISTING);
      DescriptorRef at = output.ref();
      registered = new RegisteredOutput(at.address(), at.rkey(), at.generation(), at.partitions());
      DescriptorRef unregistered = DescriptorRef.unregistered(at.shuffleId(), 1, Integer.MAX_VALUE);
      List<BlockRequest> blocks = List.of(
          new BlockRequest(0, unregistered, 0, 1, null),
          new BlockRequest(1, unregistered, 1, 2, null));
      List<Origin> origins = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        CollectingListener listener = new CollectingListener(2) {
          @Override
          public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
            origins.add(origin);
            super.onSuccess(tag, block, origin);
          }
        };
        reader.fetcher.fetch(peer(), null, blocks, listener);
        listener.await();
        assertThat(listener.failures).isEmpty();
        assertThat(listener.blocks.get(0L)).isEqualTo(output.expected(0, 1));
        assertThat(listener.blocks.get(1L)).isEqualTo(output.expected(1, 2));
      }
      assertThat(origins)
          .containsExactly(Origin.STAGED, Origin.STAGED, Origin.REGISTERED, Origin.REGISTERED);
    }
    registered = null;
  }

  /** The owner's work on a request is a part of what the reader waits for its reply. */
  @Test
  void eachRequestIsTimedAtBothEnds() throws Exception {
    List<Block> blocks = oneBlockOfEach(40, 9_000);
    assertRead(reader.read(of(blocks)), blocks);
    LatencyHistogram replies = reader.staging.clients().replyTimes();
    LatencyHistogram files = owner.staging.stats().fileTimes;
    assertThat(replies.count())
        .isEqualTo(owner.staging.stats().requests.sum())
        .isEqualTo(files.count())
        .isPositive();
    assertThat(replies.totalNs()).isGreaterThanOrEqualTo(files.totalNs());
  }

  @Test
  void whatItsOwnerCannotReadIsLeft() throws Exception {
    List<Block> blocks = oneBlockOfEach(8, 5_000);
    Files.delete(data(1));
    Files.delete(index(2));
    Files.write(data(3), new byte[5_199]); // one byte is missing
    Files.write(index(4), new byte[12]);
    Files.write(
        index(5), ByteBuffer.allocate(32).putLong(0).putLong(90).putLong(80).array());
    FetchOutcome outcome = reader.read(of(blocks));
    assertThat(outcome.left().keySet()).containsExactly(1, 2, 3, 4, 5);
    assertThat(outcome.left().values()).containsOnly(TcpReason.STAGING);
    assertThat(outcome.blocks().keySet()).containsExactly(0, 6, 7);
    assertThat(owner.staging.stats().rangesRefused.sum()).isEqualTo(5);
  }

  @Test
  void anEmptyBlockIsLeftAndAPartitionThatIsNotThereToo() throws Exception {
    commit(1, 0, 100);
    FetchOutcome outcome =
        reader.read(of(List.of(new Block(1, 0, 1), new Block(1, 1, 2), new Block(1, 2, 3))));
    assertThat(outcome.left()).isEqualTo(Map.of(0, TcpReason.ZERO_LENGTH, 2, TcpReason.STAGING));
    assertThat(outcome.blocks().get(1)).isEqualTo(expected(new Block(1, 1, 2)));
  }

  /** A block of which a part was staged stands before one that its owner cannot read. */
  @Test
  void aBlockThatCannotBeReadTakesNoOtherWithIt() throws Exception {
    List<Block> blocks = new ArrayList<>();
    for (long mapId = 0; mapId < 6; mapId += 2) {
      commit(mapId, LOAN_BYTES + 100);
      commit(mapId + 1, 100);
      Files.delete(data(mapId + 1));
      blocks.add(new Block(mapId, 0, 1));
      blocks.add(new Block(mapId + 1, 0, 1));
    }
    FetchOutcome outcome = reader.read(of(blocks));
    assertThat(outcome.left().keySet()).containsExactly(1, 3, 5);
    assertThat(outcome.blocks().keySet()).containsExactly(0, 2, 4);
    assertThat(owner.staging.stats().readersAccepted.sum()).isEqualTo(1);
  }

  @Test
  void anOwnerThatStagesNothingIsNotWaitedFor() throws Exception {
    List<Block> blocks = oneBlockOfEach(3, 100);
    owner.close();
    owner = new Node("owner", 0);
    FetchOutcome outcome = reader.read(of(blocks));
    assertThat(outcome.blocks()).isEmpty();
    assertThat(outcome.left().values()).containsOnly(TcpReason.STAGING).hasSize(3);
  }
}
