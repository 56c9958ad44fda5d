/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A READ of this process's file by another one, by each path that the software device has. */
@Timeout(120)
final class TwoProcessTest {
  @TempDir
  Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"file", "cma", "wire"})
  void aFileIsReadByAnotherProcess(String path) throws Exception {
    byte[] content = new byte[3 << 20];
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
          Map.of("SOFTVERBS_PATH", path),
          RemoteReader.class,
          String.valueOf(loopback.listenAddress().getPort()),
          String.valueOf(region.address()),
          String.valueOf(region.rkey()),
          String.valueOf(content.length))) {
        loopback.acceptInto(domain);
        assertThat(reader.awaitLine("status ")).startsWith("IBV_WC_SUCCESS");
        assertThat(reader.awaitLine("checksum ")).isEqualTo(String.valueOf(checksum.getValue()));
        loopback.answerDisconnect();
        assertThat(reader.awaitLine(path + " ")).isEqualTo(String.valueOf(content.length));
        assertThat(reader.end()).contains("live 0").doesNotContain("WARNING");
        assertThat(reader.exitValue()).isZero();
      }
    }
  }
}
