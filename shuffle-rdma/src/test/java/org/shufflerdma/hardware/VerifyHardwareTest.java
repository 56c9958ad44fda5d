/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.OnSoftDevice;

/** In processes of its own: which verbs are bound, and their secret, belong to the process. */
@OnSoftDevice("bin/lib/rxe/verify_hardware.sh runs it on rxe0")
class VerifyHardwareTest {
  private static final int TIMEOUT_S = 120;

  @TempDir
  Path directory;

  private record Ended(int status, String said) {}

  private Ended run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("java.class.path"),
        VerifyHardware.class.getName()));
    command.addAll(List.of(arguments));
    Path log = directory.resolve("log");
    Process process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(log.toFile())
        .start();
    try {
      assertThat(process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)).as("end in time").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(process.exitValue(), Files.readString(log, StandardCharsets.UTF_8));
  }

  @Test
  void softwareDeviceIsProvenAndNothingIsLeft() throws Exception {
    Path report = directory.resolve("report.json");
    Path files = Files.createDirectory(directory.resolve("files"));
    Ended ended = run(
        "--device",
        "soft",
        "--size",
        "40m",
        "--dir",
        files.toString(),
        "--report",
        report.toString());
    assertThat(ended.status()).as(ended.said()).isZero();
    assertThat(ended.said())
        .contains("everything that the plugin needs is proven")
        .contains("anything about an RDMA device: this was the software device");
    assertThat(report)
        .content()
        .contains(
            "\"proven\": true",
            "register_ms_per_gib",
            "file_mb_per_s",
            "anonymous_mb_per_s",
            "\"regions\": 10000",
            "\"status\": \"RETRY_EXC_ERR\"",
            "first_mb_per_s");
    assertThat(files).isEmptyDirectory();
  }

  @Test
  void badOptionsAreNamedWithARemedy() throws Exception {
    assertRefused("--size 5x: give a whole number with m or g", "--size", "5x");
    assertRefused("/nowhere is no directory", "--device", "soft", "--dir", "/nowhere");
    assertRefused("device nosuch is not present", "--device", "nosuch", "--dir", "/tmp");
    assertRefused(
        "did you mean spark.shuffle.rdma.device?", "--conf", "spark.shuffle.rdma.devices=a");
  }

  private void assertRefused(String reason, String... arguments) throws Exception {
    Ended ended = run(arguments);
    assertThat(ended.said()).contains(reason);
    assertThat(ended.status()).isEqualTo(2);
  }
}
