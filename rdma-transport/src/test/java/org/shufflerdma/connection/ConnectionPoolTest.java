/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.AppenderLoggingException;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;

@Timeout(120)
class ConnectionPoolTest {
  private RdmaTransport first;
  private RdmaTransport second;
  private RdmaTransport reader;

  @BeforeEach
  void open() throws Exception {
    first = TestTransports.open("first");
    second = TestTransports.open("second");
    reader = TestTransports.open("reader");
  }

  @AfterEach
  void close() {
    reader.close();
    second.close();
    first.close();
  }

  private Connection connect(RdmaTransport to) throws Exception {
    PeerId peer = TestTransports.peerOf(to == first ? "first" : "second", to);
    return reader.connections().connect(peer, null, Deadline.afterMs(20_000));
  }

  private ConnectFailure failureTo(RdmaTransport to) throws Exception {
    try {
      connect(to);
      throw new AssertionError("connected");
    } catch (NoConnectionException e) {
      return e.failure();
    }
  }

  private static void awaitConnections(RdmaTransport transport, int count) throws Exception {
    Deadline deadline = Deadline.afterMs(20_000);
    while (transport.outboundConnections() != count && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(1);
    }
    assertThat(transport.outboundConnections()).isEqualTo(count);
  }

  @Test
  void aPeerThatIsGoneAndNotAskedForAnyMoreIsForgotten() throws Exception {
    Connection kept = connect(second);
    first.close();
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      assertThat(failureTo(first)).isEqualTo(ConnectFailure.REFUSED);
    }
    assertThat(failureTo(first)).isEqualTo(ConnectFailure.BREAKER);

    reader.connections().forgetUnused(0);

    assertThat(failureTo(first)).isEqualTo(ConnectFailure.REFUSED);
    assertThat(connect(second)).isSameAs(kept);
  }

  /** All that a connection must wait for before its canary is read. */
  private List<RegisteredBuffer> takeAllBuffers() throws Exception {
    List<RegisteredBuffer> all = new ArrayList<>();
    try {
      while (true) {
        all.add(reader.buffers().acquire(Canary.SIZE_BYTES, Deadline.afterMs(0)));
      }
    } catch (IOException e) {
      return all;
    }
  }

  private void openReader(Map<String, ?> changes) throws Exception {
    reader.close();
    reader = TestTransports.open(
        "reader", TestTransports.with(TestTransports.settings(0, 1 << 20), changes));
  }

  private void connectAndBreak() throws Exception {
    connect(first).breakWith(new Breakage(Breakage.Kind.NO_PROGRESS, "of a test"));
  }

  @Test
  void theCanaryAloneDoesNotMakeUpForFailures() throws Exception {
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      connectAndBreak();
    }
    assertThat(failureTo(first)).isEqualTo(ConnectFailure.BREAKER);
  }

  @Test
  void aReadOfDataMakesUpForFailures() throws Exception {
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      TestTransports.assertReads(connect(first), first, reader, 1);
      connectAndBreak();
    }
    assertThat(connect(first).isOpen()).isTrue();
  }

  @Test
  void aTrialThatFailsForWantOfABufferIsFollowedByAnotherAtOnce() throws Exception {
    openReader(Map.of("breakerOpenMs", 4_000));
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      connectAndBreak();
    }
    List<RegisteredBuffer> all = takeAllBuffers();
    PeerId peer = TestTransports.peerOf("first", first);
    Deadline deadline = Deadline.afterMs(20_000);
    ConnectFailure failure = ConnectFailure.BREAKER;
    while (failure == ConnectFailure.BREAKER && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(10);
      failure = catchThrowableOfType(
              NoConnectionException.class,
              () -> reader.connections().connect(peer, null, Deadline.afterMs(500)))
          .failure();
    }
    assertThat(failure).isEqualTo(ConnectFailure.RESOURCES);
    all.forEach(RegisteredBuffer::release);
    assertThat(connect(first).isOpen()).isTrue();
  }

  @Test
  void aConnectionTakesOnePlaceWhileItIsProved() throws Exception {
    openReader(Map.of("maxConnections", 2));
    List<RegisteredBuffer> all = takeAllBuffers();
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      Future<Connection> one = threads.submit(() -> connect(first));
      awaitConnections(reader, 1);
      Future<Connection> other = threads.submit(() -> connect(second));
      awaitConnections(reader, 2);
      all.forEach(RegisteredBuffer::release);
      assertThat(one.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
      assertThat(other.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
    } finally {
      threads.shutdownNow();
    }
  }

  /** Makes the pool's warnings throw until it is restored. */
  private static final class FailingLog {
    private final Logger log = (Logger) LogManager.getLogger(ConnectionPool.class);
    private final AbstractAppender appender =
        new AbstractAppender("failing", null, null, false, Property.EMPTY_ARRAY) {
          @Override
          public void append(LogEvent event) {
            if (event.getLevel().equals(Level.WARN)) {
              throw new AppenderLoggingException("of a test");
            }
          }
        };

    private final Level level = log.getLevel();

    FailingLog() {
      appender.start();
      log.addAppender(appender);
      log.setLevel(Level.WARN);
    }

    void restore() {
      log.setLevel(level);
      log.removeAppender(appender);
    }
  }

  @Test
  void anAttemptThatStumblesIsOverForThoseWhoShareIt() throws Exception {
    first.close();
    FailingLog log = new FailingLog();
    try {
      assertThatThrownBy(() -> connect(first)).isInstanceOf(AppenderLoggingException.class);
    } finally {
      log.restore();
    }
    assertThat(failureTo(first)).isEqualTo(ConnectFailure.REFUSED);
  }

  @Test
  void connectionsWhoseEndsCannotBeReportedEndAllTheSame() throws Exception {
    Connection one = connect(first);
    Connection other = connect(second);
    FailingLog log = new FailingLog();
    try {
      reader.connections().close(new Breakage(Breakage.Kind.DEVICE, "of a test"));
      assertThat(one.isOpen()).isFalse();
      assertThat(other.isOpen()).isFalse();
      awaitConnections(reader, 0);
    } finally {
      log.restore();
    }
  }
}
