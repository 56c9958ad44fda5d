/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;

/** What a client that is called back may do to a fetch, and what happens between the pieces of a block. */
@Timeout(120)
class BackgroundFetchTest extends FetcherScene {
  private static final int LARGE_BYTES = 20_000_000;

  private static void write(ByteArrayOutputStream into, ByteBuffer piece) throws IOException {
    Channels.newChannel(into).write(piece);
  }

  @Test
  void aSinkThatFailsAfterTheFirstPieceFailsItsBlockAlone() throws Exception {
    TestMapOutput output = publish(1, LARGE_BYTES, 5_000);
    List<Integer> pieces = new ArrayList<>();
    BlockSink full = piece -> {
      pieces.add(piece.remaining());
      if (pieces.size() > 1) {
        throw new IOException("no space left on device");
      }
    };
    CollectingListener listener =
        fetch(List.of(new BlockRequest(1, output.ref(), 0, 1, full), output.block(2, 1, 2)));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.SINK));
    assertThat(listener.blocks.get(2L)).isEqualTo(output.expected(1, 2));
    assertThat(pieces).as("nothing is written after that").hasSize(2);
  }

  @Test
  void aConnectionThatBreaksBetweenPiecesCostsNoByte() throws Exception {
    TestMapOutput output = publish(1, LARGE_BYTES);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BlockSink sink = piece -> {
      if (bytes.size() == 0) {
        TestTransports.breakConnection(reader, peer);
      }
      write(bytes, piece);
    };
    CollectingListener listener = fetch(List.of(new BlockRequest(1, output.ref(), 0, 1, sink)));
    assertThat(listener.streamed).isEqualTo(Map.of(1L, (long) LARGE_BYTES));
    assertThat(bytes.toByteArray()).isEqualTo(output.expected(0, 1));
    assertThat(reader.stats().reconnects.sum()).isEqualTo(1);
  }

  @Test
  void damagedPiecesAreFoundAtTheEndAndNotReadAgain() throws Exception {
    TestMapOutput output = publish(1, LARGE_BYTES, 100);
    output.tamper(5_000_000);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CollectingListener listener =
        fetch(List.of(new BlockRequest(1, output.ref(), 0, 1, piece -> write(bytes, piece))));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.CHECKSUM));
    assertThat(bytes.size())
        .as("the last piece shows it")
        .isEqualTo(LARGE_BYTES - LARGE_BYTES % (4 << 20));
  }

  @Test
  void aPieceStaysWhileItIsWrittenAlsoIfTheFetchIsCancelled() throws Exception {
    TestMapOutput output = publish(1, LARGE_BYTES);
    CountDownLatch writes = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    CountDownLatch written = new CountDownLatch(1);
    byte[] seen = new byte[1000];
    BlockSink sink = piece -> {
      writes.countDown();
      await(cancelled);
      piece.get(seen);
      written.countDown();
    };
    CollectingListener listener = new CollectingListener(1);
    BackgroundFetch fetch =
        fetcher.fetch(peer, null, List.of(new BlockRequest(1, output.ref(), 0, 1, sink)), listener);
    await(writes);
    fetch.cancel();
    assertThat(reader.buffers().usage().leasedBuffers()).isPositive();
    cancelled.countDown();
    await(written);
    Await.until("the end of the fetch", 60_000, fetch::hasEnded);
    assertThat(seen).isEqualTo(Arrays.copyOf(output.expected(0, 1), seen.length));
    assertThat(listener.calls()).isZero();
    TestTransports.awaitNoLeases(reader);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** A listener of Scala's can throw whatever it likes. */
  @Test
  void aListenerThatThrowsACheckedExceptionIsToldOfTheOthers() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(8, 10_000);
    CollectingListener thrower = new CollectingListener(blocks.size()) {
      @Override
      public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
        if (tag == 3) {
          block.release();
          throw unchecked(new IOException("of a test"));
        }
        super.onSuccess(tag, block, origin);
      }

      @Override
      public void onFailure(long tag, TcpReason reason, Throwable cause) {
        super.onFailure(tag, reason, cause);
        throw unchecked(new IOException("of a test"));
      }
    };
    for (int i = 0; i < 3; i++) { // as many as workers serve the peer, and more
      fetcher.fetch(peer, null, blocks, thrower);
    }
    CollectingListener last = new CollectingListener(blocks.size());
    fetcher.fetch(peer, null, blocks, last);
    assertDelivered(last.await(), blocks);
    assertThat(thrower.await().failures).isEqualTo(Map.of(3L, TcpReason.INTERNAL));
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void aFetchThatIsCancelledInTheMidstOfACallKeepsNothing() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 200_000);
    for (int round = 0; round < 20; round++) {
      CountDownLatch called = new CountDownLatch(1);
      FetchListener listener = new CollectingListener(blocks.size()) {
        @Override
        public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
          called.countDown();
          super.onSuccess(tag, block, origin);
        }
      };
      BackgroundFetch fetch = fetcher.fetch(peer, null, blocks, listener);
      await(called);
      fetch.cancel();
      Await.until("the end of the fetch", 60_000, fetch::hasEnded);
    }
    TestTransports.awaitNoLeases(reader);
  }

  @Test
  void aFetchThatIsCancelledBeforeItStartsTellsNothing() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(2, 1000);
    CollectingListener listener = new CollectingListener(blocks.size());
    BackgroundFetch fetch = fetcher.prepare(peer, null, blocks, listener);
    fetch.cancel();
    fetch.start();
    Await.until("the end of the fetch", 60_000, fetch::hasEnded);
    assertThat(listener.calls()).isZero();
  }
}
