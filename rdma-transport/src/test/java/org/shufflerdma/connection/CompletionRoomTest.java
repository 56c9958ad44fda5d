/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.TestDevice;
import org.shufflerdma.verbs.VerbsException;

@Timeout(120)
class CompletionRoomTest {
  private final Acquired acquired = new Acquired();
  private DeviceContext device;

  @BeforeEach
  void openTheDevice() throws Exception {
    TestDevice.open();
    EventChannel channel = acquired.keep(EventChannel.open());
    device = channel.devices().stream()
        .filter(each -> each.name().equals(TestDevice.name()))
        .findFirst()
        .orElseThrow();
  }

  @AfterEach
  void close() {
    acquired.close();
  }

  private CompletionRoom room(int maxConnections, int maxCqe) throws IOException {
    DeviceInfo info = device.query();
    DeviceInfo small = new DeviceInfo(
        info.name(),
        info.guid(),
        info.maxQpRdAtom(),
        info.maxQpInitRdAtom(),
        info.ackDelay(),
        info.maxQp(),
        info.maxQpWr(),
        info.maxSge(),
        Math.min(info.maxCqe(), maxCqe),
        info.maxMrSize(),
        info.maxMr(),
        info.odp(),
        info.ports());
    TransportSettings settings = TestTransports.with(
        TestTransports.settings(0, 1 << 20),
        Map.of("maxConnections", maxConnections, "sendQueueDepth", 32, "readsPerList", 8));
    return CompletionRoom.create(
        device, small, acquired.keep(device.createCompletionChannel()), settings, acquired);
  }

  @Test
  void itGrowsBeforeMoreIsReservedThanItHolds() throws Exception {
    CompletionRoom room = room(300, Integer.MAX_VALUE);
    QueueDepths depths = new QueueDepths(32, 8);
    assertThat(room.connections()).isEqualTo(300);
    List<CompletionRoom.Entries> all = new ArrayList<>();
    for (int number = 1; number <= 300; number++) {
      CompletionRoom.Entries entries = room.reserve();
      all.add(entries);
      assertThat(entries.count()).isEqualTo(depths.of(number));
      assertThat(room.reserved()).isEqualTo((int) depths.sum(number));
      assertThat(room.queue().capacity()).isGreaterThanOrEqualTo(room.reserved());
    }
    all.forEach(CompletionRoom.Entries::close);
    assertThat(room.reserved()).isZero();
    all.get(0).close(); // to no effect
    assertThat(room.reserved()).isZero();
    try (CompletionRoom.Entries first = room.reserve()) {
      assertThat(first.count()).as("there are few again").isEqualTo(32);
    }
  }

  @Test
  void thoseWhoReserveAtOnceNeverHaveMoreThanItHolds() throws Exception {
    CompletionRoom room = room(300, Integer.MAX_VALUE);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int seed = 0; seed < 4; seed++) {
        Random random = new Random(seed);
        all.add(threads.submit(() -> {
          comeAndGo(room, random);
          return null;
        }));
      }
      for (Future<?> each : all) {
        each.get(60, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(room.reserved()).isZero();
  }

  private static void comeAndGo(CompletionRoom room, Random random) throws IOException {
    List<CompletionRoom.Entries> own = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      if (own.size() < 75 && random.nextInt(3) > 0) {
        own.add(room.reserve());
      } else if (!own.isEmpty()) {
        own.remove(random.nextInt(own.size())).close();
      }
      int reserved = room.reserved();
      assertThat(room.queue().capacity()).isGreaterThanOrEqualTo(reserved);
    }
    own.forEach(CompletionRoom.Entries::close);
  }

  @Test
  void aQueueThatCannotGrowHasRoomForSmallerConnections() throws Exception {
    CompletionQueue queue = acquired.keep(device.createCompletionQueue(100, null, 0));
    int tooMany = device.query().maxCqe() + 1;
    CompletionRoom room = new CompletionRoom(queue, new QueueDepths(tooMany, 8), 1_000_000);
    int fitting = queue.capacity() / 8; // some devices round up
    for (int i = 0; i < fitting; i++) {
      assertThat(room.reserve().count()).isEqualTo(8);
    }
    assertThat(room.reserved()).isEqualTo(8 * fitting);
    assertThatThrownBy(room::reserve).isInstanceOf(VerbsException.class);
    assertThat(room.reserved()).isEqualTo(8 * fitting);
  }

  @Test
  void thereAreNoMoreConnectionsThanTheDeviceCompletesWorkFor() throws Exception {
    assertThat(room(300, 100).connections()).isEqualTo(3);
    assertThat(room(300, 32).connections()).isEqualTo(1);
    assertThat(room(1, 100).connections()).isEqualTo(1);
    assertThatThrownBy(() -> room(300, 31))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("sendQueueDepth, which is 32");
  }
}
