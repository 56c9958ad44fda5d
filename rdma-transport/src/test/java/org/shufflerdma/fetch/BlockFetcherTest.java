/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.TestDevice;

/** Blocks that arrive, in memory and streamed. */
@Timeout(120)
class BlockFetcherTest extends FetcherScene {
  @Test
  void aDeletedFileIsReadAsItWas() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).delete();
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aPeerThatKeepsItsFetchesWaitingKeepsNobodyElseWaiting() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    List<CollectingListener> waiting = new ArrayList<>();
    withSilentPeer(silent -> {
      for (int i = 0; i < 16; i++) {
        CollectingListener listener = new CollectingListener(blocks.size());
        waiting.add(listener);
        fetcher.fetch(silent, null, blocks, listener);
      }
      assertDelivered(fetch(blocks), blocks);
      assertThat(waiting).allMatch(listener -> listener.calls() == 0);
      closeReader();
    });
    for (CollectingListener listener : waiting) {
      assertThat(listener.await().failures.values()).containsOnly(TcpReason.CLOSED);
    }
  }

  @Test
  void aBlockLargerThanThePoolIsStreamedToItsSink() throws Exception {
    closeReader();
    openReader(8 << 20);
    TestMapOutput output = publish(1, 10, 20_000_000, 0, 3_000_000);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BlockSink sink = piece -> Channels.newChannel(bytes).write(piece);
    CollectingListener listener =
        fetch(List.of(new BlockRequest(9, output.ref(), 1, 4, sink), output.block(10, 1, 2)));
    assertThat(listener.streamed).isEqualTo(Map.of(9L, 23_000_000L));
    assertThat(bytes.toByteArray()).isEqualTo(output.expected(1, 4));
    assertThat(listener.failures).isEqualTo(Map.of(10L, TcpReason.TOO_LARGE));
  }

  @Test
  void noBufferOfACancelledFetchComesBackWhileItMayBeWritten() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(32, 200_000);
    byte[] poison = new byte[1 << 20];
    java.util.Arrays.fill(poison, (byte) 0xDE);
    int rounds = TestDevice.isSoft() ? 100 : 20; // a guest is slow
    for (int round = 0; round < rounds; round++) {
      CollectingListener listener = new CollectingListener(blocks.size());
      BackgroundFetch token = fetcher.fetch(peer, null, blocks, listener);
      if (round % 3 > 0) {
        TimeUnit.MICROSECONDS.sleep(round * 50L);
      }
      token.cancel();
      RegisteredBuffer buffer = reader.buffers().acquire(1 << 20, Deadline.afterMs(10_000));
      ByteBuffer view = buffer.nioBuffer(0, 1 << 20);
      view.duplicate().put(poison);
      assertDelivered(fetch(blocks), blocks);
      assertThat(view.mismatch(ByteBuffer.wrap(poison))).as("round %d", round).isEqualTo(-1);
      buffer.release();
      assertThat(listener.failures).isEmpty();
    }
  }
}
