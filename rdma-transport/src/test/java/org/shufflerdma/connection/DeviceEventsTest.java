/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.verbs.FaultControl;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/**
 * Several transports of one process, which has the device opened once, as a node service has. The fifth and the
 * fourth are connected to the sixth, and the event is of the fifth's connection, of its queue, or of the device.
 */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class DeviceEventsTest {
  private static final int TRANSPORTS = 6;
  private static final int BYSTANDER = 3;
  private static final int STRUCK = 4;
  private static final int SERVING = 5;
  private static final int TIMEOUT_MS = 20_000;

  @TempDir
  Path directory;

  /** The transports that the event ends, and those of the two whose connections stay open. */
  private String endedAfter(String event) throws Exception {
    FaultControl control = new FaultControl(directory.resolve("faults"));
    try (Jvm jvm = Jvm.start(control.environment(), DeviceEventsTest.class, event)) {
      return jvm.awaitLine("ended: ");
    }
  }

  @Test
  void aFatalEventOfTheDeviceEndsEveryTransportOnIt() throws Exception {
    assertThat(endedAfter("DEVICE_FATAL")).isEqualTo("[0, 1, 2, 3, 4, 5] open: []");
  }

  @Test
  void anErrorOfACompletionQueueEndsItsTransportAlone() throws Exception {
    assertThat(endedAfter("CQ_ERR")).isEqualTo("[4] open: [3]");
  }

  @Test
  void aFatalEventOfAQueuePairEndsItsConnectionAlone() throws Exception {
    assertThat(endedAfter("QP_FATAL")).isEqualTo("[] open: [3]");
  }

  @Test
  void theLastTransportOfADeviceEndsItsThreadAndTheNextOneStartsAnother() throws Exception {
    for (int i = 0; i < 2; i++) {
      try (RdmaTransport one = TestTransports.open("one");
          RdmaTransport two = TestTransports.open("two")) {
        assertThat(one.device().name()).isEqualTo(two.device().name());
        assertThat(threads()).isEqualTo(1);
      }
      assertThat(threads()).isZero();
    }
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().startsWith("rdma-async-"))
        .count();
  }

  public static void main(String[] arguments) throws Exception {
    List<RdmaTransport> transports = new ArrayList<>();
    for (int i = 0; i < TRANSPORTS; i++) {
      transports.add(TestTransports.open("app" + i));
    }
    Connection connection = connect(transports, STRUCK);
    Connection bystander = connect(transports, BYSTANDER);
    boolean isOfDevice = arguments[0].equals("DEVICE_FATAL");
    FaultControl.own()
        .say("raise " + arguments[0] + (isOfDevice ? "" : " qp=" + connection.queuePairNumber()));
    Await.atMost(TIMEOUT_MS, () -> !connection.isOpen());
    switch (arguments[0]) {
      case "DEVICE_FATAL" ->
        Await.atMost(TIMEOUT_MS, () -> transports.stream().allMatch(RdmaTransport::hasEnded));
      case "CQ_ERR" -> Await.atMost(TIMEOUT_MS, transports.get(STRUCK)::hasEnded);
      default -> Await.atMost(TIMEOUT_MS, () -> transports.get(SERVING).inboundConnections() == 1);
    }
    List<Integer> open = new ArrayList<>();
    if (bystander.isOpen()) {
      open.add(BYSTANDER);
    }
    if (connection.isOpen()) {
      open.add(STRUCK);
    }
    List<Integer> ended = new ArrayList<>();
    for (int i = 0; i < TRANSPORTS; i++) {
      if (transports.get(i).hasEnded()) {
        ended.add(i);
      }
    }
    System.out.println("ended: " + ended + " open: " + open);
    transports.forEach(RdmaTransport::close);
  }

  private static Connection connect(List<RdmaTransport> transports, int from) throws Exception {
    PeerId serving = TestTransports.peerOf("app" + SERVING, transports.get(SERVING));
    return TestTransports.connect(transports.get(from), serving);
  }
}
