/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.TestDevice;

/** A transport, in a process of its own, whose device does not come back from the end of a queue pair. */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class StuckEndTest {
  private static final int TIMEOUT_MS = 20_000;

  @Test
  void nothingIsDestroyedWhileAThreadIsInsideTheDevice() throws Exception {
    Map<String, String> stuck = Map.of("SOFTVERBS_FAULT", "destroy_qp:delay=300000,count=all");
    try (Jvm jvm = Jvm.start(stuck, StuckEndTest.class)) {
      assertThat(jvm.awaitLine("after the end: ")).isEqualTo(jvm.awaitLine("before: "));
    }
  }

  public static void main(String[] arguments) throws Exception {
    TestDevice.open();
    TransportSettings settings =
        TestTransports.with(TestTransports.settings(0, 1 << 20), Map.of("drainTimeoutMs", 100));
    RdmaTransport from = RdmaTransport.open(
        settings, null, new LocalIdentity("app", "1", "a secret".getBytes(StandardCharsets.UTF_8)));
    RdmaTransport to = RdmaTransport.open(
        settings, null, new LocalIdentity("app", "2", "a secret".getBytes(StandardCharsets.UTF_8)));
    from.connections().connect(new PeerId("2", to.endpoint()), null, Deadline.afterMs(TIMEOUT_MS));
    String before = live();
    from.close();
    System.out.println("after the end: " + live());
    System.out.println("before: " + before);
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  /** What queue pairs use; their other ends end by themselves. */
  private static String live() throws IOException {
    TestDevice.Live live = TestDevice.live();
    return "%d domains, %d regions, %d queues"
        .formatted(live.domains(), live.regions(), live.queues());
  }
}
