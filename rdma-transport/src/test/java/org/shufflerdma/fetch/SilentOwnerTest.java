/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.SilentPort;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.direct.FetchOutcome;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.TestDevice;

/** Owners that stage nothing for a while, or for ever: their disk hangs, or their host is gone. */
class SilentOwnerTest extends StagedScene {
  /** A request leaves no READ outstanding by which the device or the watchdog would notice. */
  @Test
  void theHostOfAnOwnerIsAskedThatDoesNotAnswerARequest() throws Exception {
    List<Block> blocks = oneBlockOfEach(2, 9_000);
    disk = new CountDownLatch(1);
    assertThat(readFromASilentHost(blocks))
        .containsOnly(TcpReason.PEER_UNREACHABLE)
        .hasSize(2);
  }

  @Test
  void theHostOfAnOwnerIsAskedThatDoesNotLetItsReaderConnect() throws Exception {
    List<Block> blocks = oneBlockOfEach(2, 9_000);
    try (SilentPort silent = SilentPort.open(TestDevice.address())) {
      owner.transport.tellStagingPort(silent.address().getPort());
      assertThat(readFromASilentHost(blocks))
          .containsOnly(TcpReason.PEER_UNREACHABLE)
          .hasSize(2);
    }
  }

  /** Even with a timeout that is so short that the host is asked at once. */
  @Test
  void aHostThatAnswersIsAskedOnceASecondAtMost() throws Exception {
    List<Block> blocks = oneBlockOfEach(2, 9_000);
    disk = new CountDownLatch(1);
    try (ServerSocket host = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Node impatient =
            new Node("impatient", 0, TestTransports.impatient(60_000, 2_000), IDLE_MS)) {
      InetSocketAddress at = (InetSocketAddress) host.getLocalSocketAddress();
      FutureTask<FetchOutcome> read = new FutureTask<>(() -> impatient.read(of(blocks, at)));
      new Thread(read, "task").start();
      host.accept().close();
      long firstNs = System.nanoTime();
      host.accept().close();
      assertThat(System.nanoTime() - firstNs).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(500));
      disk.countDown();
      assertRead(read.get(), blocks);
    } finally {
      disk.countDown();
    }
  }

  /** A disk can hang for longer than the end of a server waits. */
  @Test
  void memoryOfARequestThatOutlivesItsServerIsGivenBack() throws Exception {
    List<Block> blocks = oneBlockOfEach(2, 9_000);
    disk = new CountDownLatch(1);
    FutureTask<FetchOutcome> read = new FutureTask<>(() -> reader.read(of(blocks)));
    new Thread(read, "task").start();
    try {
      Await.until(() -> owner.staging.stats().requests.sum() > 0);
      owner.staging.close();
      assertThat(owner.staging.registeredBytes()).isPositive();
    } finally {
      disk.countDown();
    }
    Await.until(() -> owner.staging.registeredBytes() == 0);
    assertThat(read.get().left()).hasSize(2);
  }

  /** Why those are left that do not come. */
  private Collection<TcpReason> readFromASilentHost(List<Block> blocks) throws Exception {
    TransportSettings settings = TestTransports.impatient(20_000, 7_000);
    try (SilentPort silent = SilentPort.open();
        Node impatient = new Node("impatient", 0, settings, IDLE_MS)) {
      return impatient.read(of(blocks, silent.address())).left().values();
    } finally {
      disk.countDown();
    }
  }
}
