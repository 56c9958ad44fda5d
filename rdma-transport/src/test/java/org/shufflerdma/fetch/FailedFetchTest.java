/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.TestDevice;

/** Fetches that fail in whole or in part: each block fails by itself, with its reason. */
@Timeout(120)
class FailedFetchTest extends FetcherScene {
  @Test
  void aStaleLocationFailsAloneAndTheOthersComeOverANewConnection() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 10_000);
    assertDelivered(fetch(blocks), blocks);
    outputs.get(5).region().close();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(5L, TcpReason.REMOTE_ACCESS));
    assertThat(listener.blocks).hasSize(15);
    assertThat(reader.stats().reconnects.sum()).isEqualTo(1);
    List<BlockRequest> good = blocks.subList(6, 16);
    assertDelivered(fetch(good), good);
  }

  @Test
  void tamperedBytesAreReadTwiceAndNeverDelivered() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).tamper(5_000);
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.CHECKSUM));
    assertThat(listener.blocks).hasSize(3);
    assertThat(fetcher.stats().checksumMismatches.sum()).isEqualTo(2);
    assertThat(fetcher.stats().retries.sum()).isEqualTo(1);
  }

  @Test
  @OnSoftDevice("elsewhere pinned pages stay as they were")
  void blocksOfAFileCutShortFailAloneAndItsOwnerLives() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).cutShort();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.READ_ERROR));
    assertThat(listener.blocks).hasSize(3);
  }

  @Test
  void withoutABufferInTimeABlockFails() throws Exception {
    closeReader();
    openReader(1 << 20);
    List<BlockRequest> blocks = oneBlockOfEach(2, 60_000);
    fetch(blocks.subList(0, 1));
    TestTransports.awaitNoLeases(reader);
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < 1 << 20) {
      held.add(reader.buffers().acquire(64 << 10, Deadline.afterMs(5_000)));
    }
    CollectingListener listener = fetch(blocks.subList(0, 1));
    assertThat(listener.failures).isEqualTo(Map.of(0L, TcpReason.POOL));
    held.forEach(RegisteredBuffer::release);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aSinkThatFailsFailsItsBlockAlone() throws Exception {
    TestMapOutput output = publish(1, 1000, 2000);
    BlockSink full = piece -> {
      throw new IOException("no space left on device");
    };
    CollectingListener listener =
        fetch(List.of(new BlockRequest(1, output.ref(), 0, 1, full), output.block(2, 1, 2)));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.SINK));
    assertThat(listener.blocks.get(2L)).isEqualTo(output.expected(1, 2));
  }

  @Test
  void anEarlierRunOfThePeerIsANonceMismatch() throws Exception {
    RdmaEndpoint real = owner.endpoint();
    PeerId earlier = new PeerId(OWNER, new RdmaEndpoint(real.host(), real.port(), Nonce.random()));
    List<BlockRequest> blocks = oneBlockOfEach(2, 100);
    CollectingListener listener = fetch(earlier, blocks);
    assertThat(listener.failures.values()).containsOnly(TcpReason.NONCE);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aPeerWithAnotherSecretIsRejected() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    byte[] guess = "guess".getBytes(StandardCharsets.UTF_8);
    try (RdmaTransport stranger =
            TestTransports.open("stranger", TestTransports.settings(0, 1 << 20), guess);
        BlockFetcher fetches = new BlockFetcher(stranger, new FetchSettings(2, 100, 60_000))) {
      CollectingListener listener = new CollectingListener(1);
      fetches.fetch(peer, null, blocks, listener);
      assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.REJECTED));
    }
    assertThat(owner.stats().connectionsRejected.sum()).isEqualTo(1);
  }

  @Test
  void aPeerThatIsGoneFailsItsBlocksAtOnceAndIsThenLeftAlone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    PeerId gone = new PeerId(
        OWNER, new RdmaEndpoint(TestDevice.address().getHostAddress(), 1, Nonce.random()));
    for (int i = 0; i < 3; i++) {
      assertThat(fetch(gone, blocks).failures.values()).containsOnly(TcpReason.CONNECT);
    }
    assertThat(fetch(gone, blocks).failures.values()).containsOnly(TcpReason.BREAKER);
    assertThat(reader.stats().connectFailures.sum()).isEqualTo(3);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void blocksOfAClosedFetcherFailAsClosed() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 100);
    fetcher.close();
    assertThat(fetch(blocks).failures.values()).containsOnly(TcpReason.CLOSED);
  }

  @Test
  void anOwnerThatClosesInBetweenIsFoundGone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 100);
    assertDelivered(fetch(blocks), blocks);
    for (TestMapOutput output : outputs) {
      output.close();
    }
    arena.close();
    owner.close();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.blocks).isEmpty();
    assertThat(listener.failures.values())
        .allMatch(reason -> reason == TcpReason.CONNECT || reason == TcpReason.READ_ERROR);
  }

  @Test
  void blocksThatTheListenerDoesNotTakeAreReportedFailedAndTheOthersCome() throws Exception {
    TestMapOutput output = publish(1, 1000, 0, 3000, 4000, 5000);
    List<BlockRequest> blocks = List.of(
        output.block(0, 0, 1),
        output.block(1, 1, 2),
        output.block(2, 2, 3),
        new BlockRequest(3, output.ref(), 3, 4, piece -> {}),
        output.block(4, 4, 5));
    CollectingListener listener = new CollectingListener(blocks.size());
    fetcher.fetch(peer, null, blocks, new TakingSome(List.of(2L, 4L), listener));
    assertThat(listener.await().failures)
        .isEqualTo(Map.of(
            0L, TcpReason.INTERNAL,
            1L, TcpReason.ZERO_LENGTH,
            3L, TcpReason.INTERNAL));
    assertThat(listener.blocks.get(2L)).isEqualTo(output.expected(2, 3));
    assertThat(listener.blocks.get(4L)).isEqualTo(output.expected(4, 5));
    assertDelivered(fetch(blocks.subList(0, 1)), blocks.subList(0, 1));
  }

  /** Has no memory for the other blocks. */
  private record TakingSome(List<Long> tags, FetchListener taken) implements FetchListener {
    @Override
    public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
      if (!tags.contains(tag)) {
        block.release();
        throw new OutOfMemoryError("of a test");
      }
      taken.onSuccess(tag, block, origin);
    }

    @Override
    public void onStreamed(long tag, long lengthBytes, Origin origin) {
      throw new OutOfMemoryError("of a test");
    }

    @Override
    public void onFailure(long tag, TcpReason reason, Throwable cause) {
      taken.onFailure(tag, reason, cause);
    }
  }
}
