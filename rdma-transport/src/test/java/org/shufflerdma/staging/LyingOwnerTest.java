/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.ProvedServer;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.metrics.TcpReason;

/** Owners that prove themselves, and then say of what they have staged what is not so. One of them is honest. */
@Timeout(60)
class LyingOwnerTest {
  private static final int BLOCK_BYTES = 1_000;
  private static final int PROGRESS_MS = 3_000;
  private static final StagingTerms TERMS = new StagingTerms(64 << 10, 4, 20_000);
  private static final DirectFetch.Limits LIMITS = new DirectFetch.Limits(1 << 20, 100, 100);

  private RdmaTransport owner;
  private RdmaTransport reader;
  private ControlLoop loop;
  private Staging staging;
  private BlockFetcher fetcher;
  private @Nullable ProvedServer server;
  private final AtomicInteger clients = new AtomicInteger();

  /** The requests whose loans the reader has returned. */
  private final Queue<Long> returned = new ConcurrentLinkedQueue<>();

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("owner");
    reader = TestTransports.open("reader", TestTransports.impatient(PROGRESS_MS, PROGRESS_MS));
    loop = ControlLoop.open("lies");
    staging = Staging.open(
        reader,
        (shuffle, map) -> {
          throw new IOException("the reader has no outputs");
        },
        StagingSettings.of(0, 1, 5_000, 2_000));
    fetcher =
        new BlockFetcher(reader, staging.clients(), null, new FetchSettings(4, 1_000, 60_000));
  }

  @AfterEach
  void close() throws Exception {
    fetcher.close();
    TestTransports.awaitNoLeases(reader);
    staging.close();
    ProvedServer opened = server;
    if (opened != null) {
      opened.close();
    }
    loop.close();
    reader.close();
    owner.close();
  }

  /** The owner answers each request with such replies. */
  private void answer(Function<StageRequest, List<StageReply>> replies) throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(owner.endpoint().host(), 0));
    owner.tellStagingPort(listener.socket().getLocalPort());
    PeerId self = TestTransports.peerOf("owner", owner);
    server = ProvedServer.open(
        listener,
        loop,
        5_000,
        new ProvedServer.Protocol(StagingProof.HELLO, new ProvedServer.Service() {
          @Override
          public CompletionStage<ProvedServer.Terms> termsFor(byte[] name) {
            return CompletableFuture.completedFuture(new ProvedServer.Terms(
                StagingProof.of(owner.identity(), "owner"),
                StagingProof.contextOf(self),
                StageRequest.MAX_BYTES,
                (channel, address) -> admit(channel, replies)));
          }

          @Override
          public void refused(String who, Throwable why) {}
        }));
  }

  private ControlChannel.Owner admit(
      ControlChannel channel, Function<StageRequest, List<StageReply>> replies) {
    clients.incrementAndGet();
    channel.send(TERMS.encode());
    return new ControlChannel.Owner() {
      @Override
      public void received(ByteBuffer body) throws IOException {
        StageRequest request = StageRequest.decode(body);
        returned.addAll(request.returned());
        if (request.asks()) {
          replies.apply(request).forEach(reply -> channel.send(reply.encode()));
        }
      }

      @Override
      public void closed(IOException why) {}
    };
  }

  private static StageReply staged(StageRequest request, long address, int rkey, int checksum) {
    StageReply.Entry entry = new StageReply.Entry(true, BLOCK_BYTES, BLOCK_BYTES, checksum, null);
    return new StageReply(request.id(), 0, address, rkey, List.of(entry));
  }

  private PeerBlocks oneBlock() {
    PeerBlocks blocks = new PeerBlocks(TestTransports.peerOf("owner", owner), null);
    blocks.add(DescriptorRef.unregistered(1, 2, 3), 0, 1);
    return blocks;
  }

  /** The reason for which TCP fetches the one block that the reader wants. */
  private TcpReason leftBecause() throws InterruptedException {
    List<TcpReason> reasons = new ArrayList<>();
    try (DirectFetch fetch = fetcher.direct(List.of(oneBlock()), LIMITS, () -> {})) {
      assertThat(fetch.next()).as("a block that was delivered").isFalse();
      fetch.left().stream().map(LeftBlock::reason).forEach(reasons::add);
    }
    assertThat(reasons).hasSize(1);
    return reasons.get(0);
  }

  @Test
  void memoryThatIsNotTheOwnersIsNotRead() throws Exception {
    answer(request -> List.of(staged(request, 0x1000, 12_345, 0)));
    assertThat(leftBecause()).isEqualTo(TcpReason.CONNECTION_LOST);
  }

  /** As after a READ that came so late that the owner had used the memory again. */
  @Test
  void bytesThatDoNotMatchAreReadOnceMore() throws Exception {
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice memory = arena.allocate(BLOCK_BYTES);
      answer(request -> List.of(staged(request, memory.address(), memory.rkey(), 7)));
      assertThat(leftBecause()).isEqualTo(TcpReason.CHECKSUM);
      assertThat(fetcher.stats().checksumMismatches.sum()).isEqualTo(2);
      memory.close();
    }
  }

  /** No request follows that could bring the return. */
  @Test
  void whatHasBeenReadIsReturnedAtOnce() throws Exception {
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice memory = arena.allocate(BLOCK_BYTES);
      CRC32C ofZeros = new CRC32C();
      ofZeros.update(new byte[BLOCK_BYTES]);
      int checksum = (int) ofZeros.getValue();
      answer(request -> List.of(staged(request, memory.address(), memory.rkey(), checksum)));
      try (DirectFetch fetch = fetcher.direct(List.of(oneBlock()), LIMITS, () -> {})) {
        assertThat(fetch.next()).isTrue();
        Await.atMost(TERMS.leaseMs() / 4, () -> !returned.isEmpty());
        assertThat(returned).as("while the task consumes the block").containsExactly(1L);
      }
      memory.close();
    }
  }

  @Test
  void anAnswerToWhatNobodyAskedEndsTheConnection() throws Exception {
    answer(request -> List.of(
        new StageReply(request.id() + 1_000, 0, 0, 0, List.of(StageReply.Entry.refused()))));
    assertThat(leftBecause()).isEqualTo(TcpReason.STAGING);
    assertThat(clients.get()).isGreaterThan(1);
  }

  @Test
  void aWaitThatWouldBeTooLongIsNotBegun() throws Exception {
    AtomicInteger requests = new AtomicInteger();
    answer(request -> {
      requests.incrementAndGet();
      return List.of(StageReply.waiting(request.id(), PROGRESS_MS));
    });
    assertThat(leftBecause()).isEqualTo(TcpReason.STAGING);
    assertThat(clients.get()).isEqualTo(1);
    assertThat(requests.get()).isEqualTo(1);
  }

  @Test
  void aWaitThatIsAlwaysNearlyOverEnds() throws Exception {
    answer(request -> List.of(StageReply.waiting(request.id(), 1)));
    assertThat(leftBecause()).isEqualTo(TcpReason.STAGING);
    assertThat(clients.get()).isEqualTo(1);
  }
}
