/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.FaultControl;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** The entries of queue pairs that a process's device does not create, or does not destroy. */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class QueuePairFaultTest {
  @TempDir
  Path directory;

  @Test
  void entriesComeBackUnlessTheQueuePairIsStillThere() throws Exception {
    FaultControl control = new FaultControl(directory.resolve("faults"));
    try (Jvm jvm = Jvm.start(control.environment(), QueuePairFaultTest.class)) {
      assertThat(jvm.awaitLine("not created: "))
          .isEqualTo("RESOURCES by ibv_create_qp_ex, reserved 0");
      assertThat(jvm.awaitLine("of an attempt: "))
          .isEqualTo("REFUSED, reserved 256, not destroyed 1");
      assertThat(jvm.awaitLine("of a connection: ")).isEqualTo("reserved 512, not destroyed 2");
    }
  }

  /** Ends by being killed, as the reader cannot be closed. */
  public static void main(String[] arguments) throws Exception {
    RdmaTransport owner = TestTransports.open("owner");
    RdmaTransport reader = TestTransports.open("reader");
    PeerId peer = TestTransports.peerOf("owner", owner);
    FaultControl.own().say("set create_qp:errno=ENOMEM,count=all");
    NoConnectionException refusal = TestTransports.refusal(reader, peer, null);
    boolean isNamed = String.valueOf(refusal.getCause()).contains("ibv_create_qp_ex failed");
    System.out.println("not created: " + refusal.failure()
        + (isNamed ? " by ibv_create_qp_ex" : " by " + refusal) + reserved(reader));

    FaultControl.own().say("clear");
    FaultControl.own().say("set destroy_qp:errno=EBUSY,count=all");
    FaultControl.own()
        .say("set cm_event:type=CONNECT_RESPONSE,event=UNREACHABLE,errno=ECONNREFUSED");
    PeerFailure failure = TestTransports.refusal(reader, peer, null).failure();
    System.out.println("of an attempt: " + failure + reserved(reader) + notDestroyed(reader));

    Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    connection.breakWith(PeerFailure.EVICTED, "of a test");
    Await.atMost(20_000, () -> reader.outboundConnections() == 0);
    reader.poller().poll();
    System.out.println("of a connection:" + reserved(reader).substring(1) + notDestroyed(reader));
  }

  private static String reserved(RdmaTransport reader) {
    return ", reserved " + reader.connections().room().reserved();
  }

  private static String notDestroyed(RdmaTransport reader) {
    return ", not destroyed " + reader.stats().queuePairsNotDestroyed.sum();
  }
}
