/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.PausedPoller;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.Neighbourhoods;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.SoftCounters;
import org.shufflerdma.verbs.TestDevice;

/** What a fetcher reads of descriptors, how long it relies on them, and what a withdrawal does. */
@Timeout(120)
class DescriptorLeaseTest extends FetcherScene {
  private static final int LEASE_MS = 1_500;

  @Test
  void descriptorsAreReadOnce() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(8, 1000);
    fetch(blocks);
    fetch(blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(8);
    fetcher.forgetShuffle(blocks.get(0).descriptor().shuffleId());
    fetch(blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(16);
  }

  @Test
  void theHeadersOfDescriptorsAreReadAgainAfterTheirLease() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(8, 1000);
    fetcher.close();
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, LEASE_MS));
    for (int round = 1; round <= 2; round++) {
      assertDelivered(fetch(blocks), blocks);
      await(Deadline.afterMs(LEASE_MS));
      assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(8);
      assertThat(fetcher.stats().descriptorsRenewed.sum()).isEqualTo(8L * (round - 1));
    }
  }

  private static void await(Deadline lease) throws InterruptedException {
    while (!lease.expired()) {
      TimeUnit.MILLISECONDS.sleep(lease.remainingMs());
    }
  }

  /** What an owner does first and last with an output that it withdraws. */
  private static void giveBack(TestMapOutput output) throws IOException {
    MapOutputDescriptor.withdraw(output.descriptor().buffer());
    output.region().close();
  }

  @Test
  void noReadIsPostedAfterALeaseThatEndedDuringTheWaitForABuffer() throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 1 << 20));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 60_000, LEASE_MS));
    List<BlockRequest> blocks = oneBlockOfEach(1, 60_000);
    assertDelivered(fetch(blocks), blocks);
    Deadline lease = Deadline.afterMs(LEASE_MS);
    TestTransports.awaitNoLeases(reader);
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < 1 << 20) {
      held.add(reader.buffers().acquire(64 << 10, Deadline.afterMs(5_000)));
    }
    CollectingListener listener = new CollectingListener(1);
    fetcher.fetch(peer, null, blocks, listener);
    await(lease);
    giveBack(outputs.get(0));
    held.forEach(RegisteredBuffer::release);
    assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.WITHDRAWN));
    assertThat(reader.stats().reconnects.sum()).as("broken connections").isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noReadIsPostedAfterALeaseThatEndedDuringTheWaitForRoomInTheSendQueue(boolean streamed)
      throws Exception {
    closeReader();
    int depth = 16;
    reader = TestTransports.open(
        "reader",
        TestTransports.with(
            TestTransports.settings(0, 64 << 20),
            Map.of("sendQueueDepth", depth, "readsPerList", depth)));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, LEASE_MS));
    TestMapOutput output = publish(1, 1000);
    List<BlockRequest> blocks =
        List.of(new BlockRequest(0, output.ref(), 0, 1, streamed ? piece -> {} : null));
    assertThat(fetch(blocks).failures).isEmpty();
    Deadline lease = Deadline.afterMs(LEASE_MS);
    Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(5_000));
    CollectingListener listener = new CollectingListener(1);
    PausedPoller.during(
        reader,
        () -> { // no place becomes free
          for (int i = 0; i < depth; i++) {
            connection.post(
                List.of(readOf(output)), sink, new AwaitedCompletion(), Deadline.afterMs(5_000));
          }
          sink.release();
          fetcher.fetch(peer, null, blocks, listener);
          await(lease);
          giveBack(output);
        });
    assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.WITHDRAWN));
    assertThat(reader.stats().reconnects.sum()).as("broken connections").isZero();
  }

  /** Whoever waits for room may run again long after that, when there is room. */
  @Test
  void noReadIsPostedAfterItsDeadlineThoughThereIsRoom() throws Exception {
    TestMapOutput output = publish(1, 1000);
    Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(5_000));
    List<Read> reads = List.of(readOf(output));
    assertThatThrownBy(
            () -> connection.post(reads, sink, new AwaitedCompletion(), Deadline.afterMs(0)))
        .isInstanceOf(TimeoutException.class);
    AwaitedCompletion completion = new AwaitedCompletion();
    connection.post(reads, sink, completion, Deadline.afterMs(5_000));
    assertThat(completion.await(Deadline.afterMs(5_000))).isNull();
    sink.release();
  }

  private static Read readOf(TestMapOutput output) {
    return new Read(output.ref().address(), output.ref().rkey(), 64, 0);
  }

  @Test
  @OnSoftDevice("counts READs")
  void ofALargeDescriptorOnlyTheWindowsNeededAreRead() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 3000));
    SoftCounters start = TestTransports.verbs().softCounters();
    List<BlockRequest> blocks = List.of(output.block(0, 2000, 2001), output.block(1, 2999, 3000));
    assertDelivered(fetch(blocks.subList(0, 1)), blocks.subList(0, 1));
    SoftCounters end = TestTransports.verbs().softCounters();
    long window = (Neighbourhoods.MOST + 1) * 16;
    assertThat(TestDevice.readBytes(end) - TestDevice.readBytes(start))
        .isEqualTo(reader.canaryBytes() + 64 + window + 11);
    assertDelivered(fetch(blocks.subList(1, 2)), blocks.subList(1, 2));
  }

  @Test
  void eachWindowOfALargeDescriptorIsReadOnce() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 1000));
    for (int round = 0; round < 2; round++) {
      for (int partition = 0; partition < 1000; partition += 50) {
        List<BlockRequest> block = List.of(output.block(0, partition, partition + 1));
        assertDelivered(fetch(block), block);
      }
      assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(4);
    }
  }

  @Test
  void aBlockMayReachOverSeveralWindows() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 1000));
    List<BlockRequest> known = List.of(output.block(0, 300, 301));
    assertDelivered(fetch(known), known);
    List<BlockRequest> blocks = List.of(output.block(0, 255, 513), output.block(1, 0, 1000));
    assertDelivered(fetch(blocks), blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(2);
  }

  private static long[] partitionsOf(long lengthBytes, int partitions) {
    long[] lengths = new long[partitions];
    Arrays.fill(lengths, lengthBytes);
    return lengths;
  }

  @Test
  void aWithdrawnDescriptorFailsItsBlockAlone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    MapOutputDescriptor.withdraw(outputs.get(2).descriptor().buffer());
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(2L, TcpReason.WITHDRAWN));
    assertThat(listener.blocks).hasSize(3);
    assertThat(reader.stats().reconnects.sum()).isZero();
  }

  @Test
  void aRefusedLocationOfAStreamedBlockIsForgotten() throws Exception {
    TestMapOutput output = publish(1, 1000, 2000);
    BlockRequest streamed = new BlockRequest(1, output.ref(), 0, 1, piece -> {});
    assertThat(fetch(List.of(streamed)).streamed).isEqualTo(Map.of(1L, 1000L));
    output.region().close();
    assertThat(fetch(List.of(streamed)).failures).isEqualTo(Map.of(1L, TcpReason.REMOTE_ACCESS));
    MapOutputDescriptor.withdraw(output.descriptor().buffer());
    assertThat(fetch(List.of(streamed)).failures)
        .as("its descriptor is read again")
        .isEqualTo(Map.of(1L, TcpReason.WITHDRAWN));
  }

  /** Many a list of READs finds the lease of its descriptor over. */
  @Test
  void manyListsComeWithAShortLease() throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 256 << 10));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 10_000, 10));
    long[] lengths = new long[TestDevice.isSoft() ? 2_000 : 500]; // a guest is slow
    Arrays.fill(lengths, 8_300);
    TestMapOutput output = publish(1, lengths);
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      blocks.add(output.block(i, i, i + 1));
    }
    assertDelivered(fetch(blocks), blocks);
  }
}
