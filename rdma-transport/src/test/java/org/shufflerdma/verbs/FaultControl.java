/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/** The socket at which the software device of another process takes commands ({@code docs/fault-injection.md}). */
public record FaultControl(Path socket) {
  private static final String NAME = "SOFTVERBS_FAULT_CONTROL";

  /** What the process needs in its environment. */
  public Map<String, String> environment() {
    return Map.of(NAME, socket.toString());
  }

  /** Of this process, which has been started with the environment above. */
  public static FaultControl own() {
    return new FaultControl(Path.of(System.getenv(NAME)));
  }

  /** Has the command carried out; throws if the device does not. */
  public void say(String command) throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      channel.write(ByteBuffer.wrap((command + "\n").getBytes(StandardCharsets.UTF_8)));
      ByteBuffer answer = ByteBuffer.allocate(4096);
      channel.read(answer);
      assertThat(new String(answer.array(), 0, answer.position(), StandardCharsets.UTF_8))
          .startsWith("ok");
    }
  }
}
