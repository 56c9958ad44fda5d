/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.NoSuchFileException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;

@Timeout(60)
class StagingClientsTest {
  @Test
  void nothingIsKeptOfAttemptsThatHaveEnded() throws Exception {
    try (RdmaTransport transport = TestTransports.open("reader");
        Staging staging = Staging.open(
            transport,
            (shuffle, map) -> {
              throw new NoSuchFileException("none");
            },
            StagingSettings.of(0, 1, 5_000, 200))) {
      for (int i = 0; i < 3; i++) {
        PeerId gone = new PeerId("gone-" + i, new RdmaEndpoint("localhost", 1, Nonce.random()));
        for (int attempt = 0; attempt < 2; attempt++) { // the second one is refused at once
          assertThatThrownBy(
                  () -> staging.clients().connect(gone, closedPort(), Deadline.afterMs(5_000)))
              .isInstanceOf(IOException.class);
        }
      }
      assertThat(staging.clients().attempts).isEmpty();
    }
  }

  private static int closedPort() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return server.getLocalPort();
    }
  }
}
