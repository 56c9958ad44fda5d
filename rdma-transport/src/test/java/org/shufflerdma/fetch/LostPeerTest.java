/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.connection.SilentPort;
import org.shufflerdma.verbs.OnSoftDevice;

/** Peers that fall silent, with the timeouts that executors have: who is told what, and how soon. */
@Timeout(120)
class LostPeerTest extends PeerProcesses {
  private static final long MOST_NS = TimeUnit.SECONDS.toNanos(15);

  /** The device gives its READs up before the probe of the peer's host is over. */
  @Test
  @OnSoftDevice("elsewhere a stopped process is read all the same")
  void aPeerThatFallsSilentIsUnreachableWithin15Seconds() throws Exception {
    Process server = serve(0, 5_000);
    try (SilentPort silent = SilentPort.open()) {
      Process reader = startReader(
          published(server), 30_000, 12_000, silent.address().getPort(), "SOFTVERBS_PATH=wire");
      BufferedReader out = reader.inputReader(StandardCharsets.UTF_8);
      say(reader, "GO 0");
      assertThat(out.readLine()).isEqualTo("round 0 good 16 failed {}");
      stop(server);
      long startNs = System.nanoTime();
      say(reader, "GO 0");
      String line = out.readLine();
      long tookNs = System.nanoTime() - startNs;
      assertThat(line.split("PEER_UNREACHABLE", -1)).as(line).hasSize(OUTPUTS + 1);
      assertThat(tookNs).isLessThan(MOST_NS);
    } finally {
      signal(server, "-CONT");
    }
  }
}
