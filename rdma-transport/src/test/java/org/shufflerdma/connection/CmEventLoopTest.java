/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.TestDevice;

@Timeout(120)
final class CmEventLoopTest {
  private static final int TIMEOUT_MS = 10_000;

  /** As one that comes while its listener is destroyed. */
  @Test
  void aRequestThatNobodyTakesIsRejectedAndLeavesNoId() throws Exception {
    TestTransports.verbs();
    try (EventChannel channel = EventChannel.open();
        ConnectionId listener = channel.createId()) {
      listener.bind(new InetSocketAddress(TestDevice.address(), 0));
      listener.listen(8);
      CmEventLoop loop = new CmEventLoop(channel);
      InetSocketAddress address = Objects.requireNonNull(listener.localAddress());
      CompletableFuture<CmEventType> answer =
          CompletableFuture.supplyAsync(() -> answerOf(address));
      Deadline deadline = Deadline.afterMs(2 * TIMEOUT_MS);
      while (!answer.isDone() && !deadline.expired()) {
        loop.turn();
      }
      assertThat(answer).isCompletedWithValue(CmEventType.REJECTED);
    }
  }

  private static CmEventType answerOf(InetSocketAddress address) {
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId()) {
      id.resolveAddress(null, address, TIMEOUT_MS);
      assertThat(next(channel)).isEqualTo(CmEventType.ADDR_RESOLVED);
      id.resolveRoute(TIMEOUT_MS);
      assertThat(next(channel)).isEqualTo(CmEventType.ROUTE_RESOLVED);
      id.connect(new ConnectParameters(new byte[0], 0, 1, 7, 7));
      return next(channel);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static CmEventType next(EventChannel channel) throws Exception {
    try (CmEvent event = channel.poll(TIMEOUT_MS)) {
      assertThat(event).isNotNull();
      return event.type();
    }
  }
}
