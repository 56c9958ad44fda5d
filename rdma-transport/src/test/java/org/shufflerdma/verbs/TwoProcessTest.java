/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A READ of this process's file by another one. */
@Timeout(120)
final class TwoProcessTest {
  private static final int LENGTH = 3 << 20;

  @TempDir
  Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"file", "cma", "wire"})
  @OnSoftDevice("forces each path that it has")
  void aFileIsReadByAnotherProcessByEachPath(String path) throws Exception {
    assertThat(readByAnotherProcess(Map.of("SOFTVERBS_PATH", path)))
        .contains(path + " " + LENGTH + "\n", "live 0\n")
        .doesNotContain("WARNING");
  }

  @Test
  void aFileIsReadByAnotherProcess() throws Exception {
    assertThat(readByAnotherProcess(Map.of())).doesNotContain("WARNING");
  }

  /** What the other process says after it has read and disconnected. */
  private String readByAnotherProcess(Map<String, String> environment) throws Exception {
    byte[] content = new byte[LENGTH];
    new Random(11).nextBytes(content);
    CRC32C checksum = new CRC32C();
    checksum.update(content);
    Path file = Files.write(directory.resolve("data"), content);
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      DeviceContext context = loopback.client.context();
      assertThat(context).isNotNull();
      ProtectionDomain domain = loopback.own(context.allocProtectionDomain());
      MappedFile mapped = loopback.own(MappedFile.open(file));
      MemoryRegion region =
          loopback.own(domain.register(mapped, 0, mapped.size(), Access.REMOTE_READ));
      try (Jvm reader = Jvm.start(
          environment,
          RemoteReader.class,
          String.valueOf(loopback.listenAddress().getPort()),
          String.valueOf(region.address()),
          String.valueOf(region.rkey()),
          String.valueOf(content.length))) {
        loopback.acceptInto(domain);
        assertThat(reader.awaitLine("status ")).startsWith("IBV_WC_SUCCESS");
        assertThat(reader.awaitLine("checksum ")).isEqualTo(String.valueOf(checksum.getValue()));
        loopback.answerDisconnect();
        String rest = reader.end();
        assertThat(reader.exitValue()).isZero();
        return rest;
      }
    }
  }
}
