/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.QueuePairState;

/** What is in force at both ends of a connection, asked of the device there. */
@Timeout(120)
class QueuePairSetupTest {
  private static final ConnectionSettings DEFAULTS =
      RdmaSettings.from(Map.of(), "").connection();

  private record Ends(QueuePairAttributes initiator, QueuePairAttributes responder) {}

  private static ConnectionSettings rdAtomic(int maxRdAtomic) {
    return new ConnectionSettings("", null, null, 7, 7, maxRdAtomic, 4096);
  }

  /** Connects, and READs more than can be in progress at a time. */
  private static Ends connect(ConnectionSettings ofReader, ConnectionSettings ofOwner)
      throws Exception {
    try (RdmaTransport owner = open("owner", ofOwner);
        RdmaTransport reader = open("reader", ofReader)) {
      Connection connection = TestTransports.connect(reader, TestTransports.peerOf("owner", owner));
      TestTransports.assertReads(connection, owner, reader, 60);
      return new Ends(connection.attributes(), attributesOfInbound(owner));
    }
  }

  private static RdmaTransport open(String name, ConnectionSettings connection) throws Exception {
    return TestTransports.open(
        name, TestTransports.withConnection(TestTransports.settings(0, 1 << 20), connection));
  }

  private static QueuePairAttributes attributesOfInbound(RdmaTransport owner) throws Exception {
    Await.atMost(20_000, () -> owner.stats().connectionsAccepted.sum() > 0);
    List<QueuePairAttributes> inbound = owner.inboundAttributes();
    assertThat(inbound).hasSize(1);
    return inbound.get(0);
  }

  private static DeviceInfo device() throws Exception {
    return TestTransports.verbs().device(org.shufflerdma.verbs.TestDevice.name());
  }

  @Test
  void aPeerMayReadFromTheSideItConnectedToAndNothingElse() throws Exception {
    Ends ends = connect(DEFAULTS, DEFAULTS);
    assertThat(ends.initiator().access()).isEqualTo(Access.NONE);
    assertThat(ends.responder().access()).isEqualTo(Access.REMOTE_READ);
    assertThat(ends.initiator().state()).isEqualTo(QueuePairState.RTS);
    assertThat(ends.responder().state()).isEqualTo(QueuePairState.RTS);
  }

  @Test
  void theDefaultsSuitTheDevice() throws Exception {
    Ends ends = connect(DEFAULTS, DEFAULTS);
    int mtuBytes = device().ports().get(0).activeMtuBytes();
    for (QueuePairAttributes end : List.of(ends.initiator(), ends.responder())) {
      assertThat(end.pathMtuBytes()).isEqualTo(mtuBytes);
      assertThat(end.ackTimeout()).isEqualTo(18);
      assertThat(end.retryCount()).isEqualTo(7);
      assertThat(end.rnrRetryCount()).isEqualTo(7);
      assertThat(end.port()).isEqualTo(1);
      assertThat(GidType.of(device().name(), end.port(), end.gidIndex()))
          .isEqualTo(org.shufflerdma.verbs.TestDevice.isSoft() ? "" : " (RoCE v2)");
    }
    assertThat(ends.initiator().maxRdAtomic()).isEqualTo(16);
    assertThat(ends.responder().maxDestRdAtomic()).isEqualTo(16);
  }

  @Test
  void settingsAreInForceAtBothEnds() throws Exception {
    ConnectionSettings settings = new ConnectionSettings("", 104, 20, 5, 6, 4, 1024);
    Ends ends = connect(settings, settings);
    for (QueuePairAttributes end : List.of(ends.initiator(), ends.responder())) {
      assertThat(end.trafficClass()).isEqualTo(104);
      assertThat(end.ackTimeout()).isEqualTo(20);
      assertThat(end.retryCount()).isEqualTo(5);
      assertThat(end.rnrRetryCount()).isEqualTo(6);
      assertThat(end.pathMtuBytes()).isEqualTo(1024);
    }
    assertThat(ends.initiator().maxRdAtomic()).isEqualTo(4);
    assertThat(ends.responder().maxDestRdAtomic()).isEqualTo(4);
  }

  /** The CM carries each side's RNR retries to the other, and the retries of the side that connects. */
  @Test
  void whereTheEndsDifferTheConnectionManagerDecides() throws Exception {
    Ends ends = connect(
        new ConnectionSettings("", 8, 19, 5, 3, 16, 4096),
        new ConnectionSettings("", 16, 21, 2, 4, 16, 4096));
    assertThat(ends.initiator().ackTimeout()).isEqualTo(19);
    assertThat(ends.responder().ackTimeout()).isEqualTo(21);
    assertThat(ends.initiator().retryCount()).isEqualTo(5);
    assertThat(ends.responder().retryCount()).isEqualTo(5);
    assertThat(ends.initiator().rnrRetryCount()).isEqualTo(4);
    assertThat(ends.responder().rnrRetryCount()).isEqualTo(3);
  }

  /** Powers of two, to which rxe rounds up. */
  @ParameterizedTest
  @CsvSource({"8,4,4", "2,16,2", "1,1,1"})
  void readsInProgressAreTheFewerOfBothEnds(int ofReader, int ofOwner, int granted)
      throws Exception {
    Ends ends = connect(rdAtomic(ofReader), rdAtomic(ofOwner));
    assertThat(ends.initiator().maxRdAtomic()).isEqualTo(granted);
    assertThat(ends.responder().maxDestRdAtomic()).isEqualTo(granted);
  }

  @Test
  void moreReadsInProgressThanTheDeviceHasAreAsManyAsItHas() throws Exception {
    Ends ends = connect(rdAtomic(255), rdAtomic(255));
    int most = Math.min(device().maxQpInitRdAtom(), device().maxQpRdAtom());
    assertThat(ends.initiator().maxRdAtomic()).isEqualTo(most);
    assertThat(ends.responder().maxDestRdAtomic()).isEqualTo(most);
  }
}
