/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.TestDevice;

/** An owner of map outputs, and a reader with its fetcher. Each test ends with everything given back. */
public abstract class FetcherScene {
  protected static final String OWNER = "owner";

  @TempDir
  protected Path directory;

  protected TestDevice.Live before;
  protected RdmaTransport owner;
  protected RdmaTransport reader;
  protected RegisteredArena arena;
  protected BlockFetcher fetcher;
  protected PeerId peer;
  protected final List<TestMapOutput> outputs = new ArrayList<>();

  @BeforeEach
  protected void open() throws Exception {
    before = TestDevice.live();
    owner = TestTransports.open(OWNER);
    arena = TestTransports.arena(owner);
    peer = TestTransports.peerOf(OWNER, owner);
    openReader(TestTransports.settings(0, 64 << 20));
  }

  protected final void openReader(long poolBytes) throws IOException {
    openReader(TestTransports.settings(0, poolBytes));
  }

  protected final void openReader(TransportSettings settings) throws IOException {
    reader = TestTransports.open("reader", settings);
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, 60_000));
  }

  protected void closeReader() {
    fetcher.close();
    reader.close();
  }

  @AfterEach
  protected void everythingIsGivenBack() throws Exception {
    closeReader();
    for (TestMapOutput output : outputs) {
      output.close();
    }
    arena.close();
    owner.close();
    assertThat(TestDevice.live()).isEqualTo(before);
    assertThat(reader.buffers().usage().leasedBuffers()).as("leased buffers").isZero();
    assertThat(reader.outboundConnections()).as("connections").isZero();
  }

  protected TestMapOutput publish(long mapId, long... lengths) throws IOException {
    TestMapOutput output =
        TestMapOutput.publish(owner.protectionDomain(), arena, directory, mapId, lengths);
    outputs.add(output);
    return output;
  }

  protected interface PeerStep {
    void run(PeerId peer) throws Exception;
  }

  /** Runs the step with a peer whose rdma_cm takes connects, which nobody there ever answers. */
  protected static void withSilentPeer(PeerStep step) throws Exception {
    try (EventChannel unread = EventChannel.open();
        ConnectionId mute = unread.createId()) {
      mute.bind(new InetSocketAddress(TestDevice.address(), 0));
      mute.listen(8);
      InetSocketAddress at = Objects.requireNonNull(mute.localAddress());
      step.run(new PeerId(
          "silent",
          new RdmaEndpoint(at.getAddress().getHostAddress(), at.getPort(), Nonce.random())));
    }
  }

  protected CollectingListener fetch(List<BlockRequest> blocks) throws InterruptedException {
    return fetch(peer, blocks);
  }

  protected CollectingListener fetch(PeerId from, List<BlockRequest> blocks)
      throws InterruptedException {
    CollectingListener listener = new CollectingListener(blocks.size());
    fetcher.fetch(from, null, blocks, listener);
    return listener.await();
  }

  protected List<BlockRequest> oneBlockOfEach(int count, int lengthBytes) throws IOException {
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      blocks.add(publish(i, 100, lengthBytes, 100).block(i, 1, 2));
    }
    return blocks;
  }

  protected void assertDelivered(CollectingListener listener, List<BlockRequest> blocks) {
    assertThat(listener.failures).isEmpty();
    for (BlockRequest block : blocks) {
      assertThat(listener.blocks.get(block.tag()))
          .as("block %d", block.tag())
          .isEqualTo(expected(block));
    }
    assertThat(listener.calls()).isEqualTo(blocks.size());
  }

  protected byte[] expected(BlockRequest block) {
    return outputs.stream()
        .filter(output -> output.ref().mapId() == block.descriptor().mapId())
        .findFirst()
        .orElseThrow()
        .expected(block.startPartition(), block.endPartition());
  }
}
