/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.client.ShuffleBlockName;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;

@Timeout(60)
class AskedLocationsTest {
  private static final PublishedEndpoint ENDPOINT =
      new PublishedEndpoint("10.1.2.3", 41234, "0123456789abcdef0123456789abcdef");
  private static final ShuffleBlockName BLOCK = new ShuffleBlockName(3, 7, 5, 6);

  private final Endpoints endpoints = new Endpoints();
  private final AtomicInteger questions = new AtomicInteger();
  private final AskedLocations locations = new AskedLocations(message -> {
    questions.incrementAndGet();
    return endpoints.receive(message);
  });

  private void announce(String executorId) throws Exception {
    AskedLocations.announce(endpoints::receive, executorId, ENDPOINT);
  }

  @Test
  void anOutputIsAskedOfItsExecutorAndTheDriverOnce() throws Exception {
    announce("1");
    announce("2");
    for (int i = 0; i < 100; i++) {
      MapOutputLocation at = locations.locationOf(BLOCK, i % 2 == 0 ? "1" : "2");
      assertThat(at).isNotNull();
      assertThat(at.peer().executorId()).isEqualTo(i % 2 == 0 ? "1" : "2");
      assertThat(at.peer().endpoint().port()).isEqualTo(41234);
      assertThat(at.descriptor().isRegistered()).isFalse();
      assertThat(at.descriptor().mapId()).isEqualTo(7);
    }
    assertThat(questions).hasValue(1);
  }

  @Test
  void anExecutorThatHasJustStartedIsWaitedFor() throws Exception {
    Thread late = new Thread(() -> {
      try {
        TimeUnit.MILLISECONDS.sleep(500);
        announce("1");
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    });
    late.start();
    assertThat(locations.locationOf(BLOCK, "1")).isNotNull();
    late.join();
  }

  /** It is found when its rest is over, and until then nobody asks or waits. */
  @Test
  void anExecutorThatTheDriverDoesNotKnowIsAskedForLessAndLess() throws Exception {
    assertThat(locations.locationOf(BLOCK, "1")).isNull();
    assertThat(locations.absenceOf(BLOCK, "1")).isEqualTo(TcpReason.NO_LOCATION);
    int before = questions.get();
    for (int i = 0; i < 10_000; i++) {
      assertThat(locations.locationOf(BLOCK, "1")).isNull();
    }
    assertThat(questions.get() - before).isLessThanOrEqualTo(1);
    announce("1");
    Await.until(() -> locations.locationOf(BLOCK, "1") != null);
  }

  @Test
  void aDriverThatDoesNotAnswerKeepsTheBlocksOfAnExecutorWaitingTogether() {
    CountDownLatch never = new CountDownLatch(1);
    AtomicInteger asked = new AtomicInteger();
    AskedLocations silent = new AskedLocations(message -> {
      asked.incrementAndGet();
      never.await();
      return Map.of();
    });
    for (int i = 0; i < 1_000; i++) { // one wait of seconds each would exceed the test's time
      assertThat(silent.locationOf(BLOCK, "1")).isNull();
    }
    assertThat(asked).hasValue(1);
    never.countDown();
  }

  @Test
  void whatIsNoEndpointIsRefusedAndTheFirstOneStays() throws Exception {
    for (Object message : new Object[] {
      "what",
      new String[] {"shuffle-rdma/endpoint", "1"},
      new String[] {"x", "1", "y"},
      new String[] {"shuffle-rdma/endpoint", "1", "no endpoint"},
      new String[] {"shuffle-rdma/endpoint", "1".repeat(1_000), ENDPOINT.toText()}
    }) {
      assertThatIllegalArgumentException().isThrownBy(() -> endpoints.receive(message));
    }
    announce("1");
    AskedLocations.announce(
        endpoints::receive,
        "1",
        new PublishedEndpoint("10.9.9.9", 1, "0123456789abcdef0123456789abcdef"));
    MapOutputLocation at = locations.locationOf(BLOCK, "1");
    assertThat(at).isNotNull();
    assertThat(at.peer().endpoint().host()).isEqualTo("10.1.2.3");
  }

  @Test
  void theDriverKeepsNoMoreThanTenThousand() throws Exception {
    for (int i = 0; i < 10_100; i++) {
      announce(Integer.toString(i));
    }
    Map<?, ?> all = (Map<?, ?>) endpoints.receive(Endpoints.question());
    assertThat(all).hasSize(10_000);
    assertThat(all.containsKey("10099")).isTrue();
  }
}
