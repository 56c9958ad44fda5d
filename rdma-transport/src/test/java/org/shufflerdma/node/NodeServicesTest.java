/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.device.FreePorts;

/** Hosts without a node service. With one they are in the tests of the service. */
class NodeServicesTest {
  private static final int TIMEOUT_MS = 5_000;
  private static final int MAX_HOSTS = 8192;

  private NodeServices services;

  @BeforeEach
  void chooseAPortAtWhichNobodyListens() throws IOException {
    LocalIdentity identity =
        new LocalIdentity("app", "1", "a secret".getBytes(StandardCharsets.UTF_8));
    services = new NodeServices(identity, FreePorts.two(), TIMEOUT_MS);
  }

  private void find(String host) throws IOException {
    services.find(host, Deadline.afterMs(TIMEOUT_MS));
  }

  @Test
  void aHostWithoutAServiceIsLeftAloneForAWhile() {
    assertThatThrownBy(() -> find("127.0.0.1")).hasMessageContaining("refused");
    assertThatThrownBy(() -> find("127.0.0.1")).hasMessageContaining("of no use a while ago");
    assertThatThrownBy(() -> find("127.0.0.2")).hasMessageContaining("refused");
  }

  /** The reducers of a job choose the names. */
  @Test
  void moreHostsThanAClusterHasAreNotRemembered() {
    String host = "";
    for (int i = 1; i <= MAX_HOSTS; i++) {
      host = "127.1.%d.%d".formatted(i / 250, i % 250 + 1);
      String one = host;
      assertThatThrownBy(() -> find(one)).isInstanceOf(IOException.class);
    }
    assertThatThrownBy(() -> find("127.0.0.1"))
        .hasMessage("the node services of 8192 other hosts have been asked for");
    String last = host;
    assertThatThrownBy(() -> find(last)).hasMessageContaining("of no use a while ago");
  }
}
