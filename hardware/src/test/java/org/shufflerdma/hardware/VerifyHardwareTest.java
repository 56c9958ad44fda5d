/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.device.FreePorts;
import org.shufflerdma.verbs.OnSoftDevice;

/** In processes of its own: which verbs are bound, and their secret, belong to the process. */
@OnSoftDevice("bin/lib/rxe/verify_hardware.sh runs it on rxe0")
class VerifyHardwareTest {
  private static final int TIMEOUT_S = 120;

  @TempDir
  Path directory;

  private record Ended(int status, String said) {}

  private Process start(String faults, String... arguments) throws IOException {
    return startLogged("log", faults, arguments);
  }

  private Process startLogged(String log, String faults, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("java.class.path"),
        VerifyHardware.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve(log).toFile());
    builder.environment().put("SOFTVERBS_FAULT", faults);
    return builder.start();
  }

  private Process measure(String faults, Path files, Path report) throws IOException {
    return start(faults, sized("40m", files, "--report", report.toString()));
  }

  private Ended run(String... arguments) throws IOException, InterruptedException {
    return ended(start("", arguments));
  }

  private Ended ended(Process process) throws IOException, InterruptedException {
    try {
      assertThat(process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)).as("end in time").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(
        process.exitValue(), Files.readString(directory.resolve("log"), StandardCharsets.UTF_8));
  }

  @Test
  void theHelpListsEveryOption() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int status = VerifyHardware.run(
        new String[] {"--help"}, new PrintStream(out, true, StandardCharsets.UTF_8), System.err);
    assertThat(status).isZero();
    List<String> listed = Pattern.compile("(?m)^  (--[a-z]+) ")
        .matcher(out.toString(StandardCharsets.UTF_8))
        .results()
        .map(line -> line.group(1))
        .toList();
    List<String> known = new ArrayList<>(Options.NAMES);
    known.add("--help");
    assertThat(listed).containsExactlyInAnyOrderElementsOf(known);
  }

  @Test
  void softwareDeviceIsProvenWithoutAddressesAndNothingIsLeft() throws Exception {
    Path report = directory.resolve("report.txt");
    Path files = Files.createDirectory(directory.resolve("files"));
    Ended ended = ended(measure("", files, report));
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
            "first_mb_per_s",
            "us_per_further_mib",
            "READ and TCP, by size and by how many are in progress",
            "\"p99_us\"",
            "\"depth\": 32",
            "registered files",
            "NUMA");
    for (String address : addresses()) {
      assertThat(report).content().doesNotContain(address);
    }
    assertThat(files).isEmptyDirectory();
  }

  @Test
  void failedReadOfManyRegionsIsReportedWithEverythingElse() throws Exception {
    Path report = directory.resolve("report.txt");
    Path files = Files.createDirectory(directory.resolve("files"));
    // The measurements before it need a third of as many READs, this one thousands a second.
    Ended ended = ended(measure("read:status=REM_ACCESS_ERR,nth=2000", files, report));
    assertThat(ended.status()).as(ended.said()).isEqualTo(1);
    assertThat(ended.said())
        .containsPattern("many regions +FAILED: a READ ended with IBV_WC_REM_ACCESS_ERR")
        .containsPattern("on-demand paging +PROVEN")
        .containsPattern("dead peer +PROVEN")
        .contains("not shown by this run")
        .doesNotContain("everything given back");
    assertThat(report).content().contains("\"proven\": false", "first_mb_per_s", "two hosts");
    assertThat(files).isEmptyDirectory();
  }

  @Test
  void signalLeavesNoFile() throws Exception {
    Path files = Files.createDirectory(directory.resolve("files"));
    Process process = measure("", files, directory.resolve("report.txt"));
    awaitText(process, directory.resolve("log"), "READs and compares it");
    assertThat(files).isNotEmptyDirectory();
    process.destroy();
    assertThat(ended(process).status()).as("SIGTERM").isEqualTo(128 + 15);
    assertThat(files).isEmptyDirectory();
  }

  private static void awaitText(Process process, Path log, String text) throws Exception {
    Await.atMost(
        TIMEOUT_S * 1_000L, () -> Files.readString(log).contains(text) || !process.isAlive());
    assertThat(log).content().contains(text);
  }

  @Test
  void fileOfAnotherProcessIsComparedAndMeasured() throws Exception {
    Path files = Files.createDirectory(directory.resolve("files"));
    Process serving = startLogged(
        "serving", "", sized("8m", files, "--serve", Integer.toString(FreePorts.two())));
    try {
      Path log = directory.resolve("serving");
      awaitText(serving, log, "start it on the other host now, with --peer ");
      String peer = Files.readString(log).replaceFirst("(?s).* --peer (\\S+).*", "$1");
      Path report = directory.resolve("report.txt");
      Ended ended = run(sized("8m", files, "--report", report.toString(), "--peer", peer));
      assertThat(ended.status()).as(ended.said()).isZero();
      assertThat(report)
          .content()
          .containsPattern("bytes of another host +PROVEN: 8 MiB of a file of 8 MiB")
          .contains("\nREAD and TCP between two hosts\n")
          .doesNotContain("two hosts: a device that reads from itself");
      assertThat(serving.waitFor(TIMEOUT_S, TimeUnit.SECONDS)).as("end in time").isTrue();
      assertThat(serving.exitValue()).as(Files.readString(log)).isZero();
    } finally {
      serving.destroyForcibly();
    }
    assertThat(files).isEmptyDirectory();
  }

  private static String[] sized(String size, Path files, String... more) {
    List<String> all =
        new ArrayList<>(List.of("--device", "soft", "--size", size, "--dir", files.toString()));
    all.addAll(List.of(more));
    return all.toArray(new String[0]);
  }

  @Test
  void badOptionsAreNamedWithARemedy() throws Exception {
    assertRefused("--size 5x: give a whole number with m or g", "--size", "5x");
    assertRefused("--serve 0: give a port from 1 to 65534", "--serve", "0");
    assertRefused("--peer here: give HOST:PORT", "--peer", "here");
    assertRefused("one host and --peer on the other", "--serve", "7400", "--peer", "here:7400");
    assertRefused("/nowhere is no directory", "--device", "soft", "--dir", "/nowhere");
    assertRefused(
        "is a directory; give the name of a file",
        "--device",
        "soft",
        "--dir",
        "/tmp",
        "--report",
        directory.toString());
    assertRefused(
        "spark.shuffle.rdma.devices is unknown", "--conf", "spark.shuffle.rdma.devices=a");
  }

  @Test
  void hostWithoutTheDeviceIsReportedAllTheSame() throws Exception {
    Path report = directory.resolve("report.txt");
    assertRefused(
        "device nosuch is not present",
        "--device",
        "nosuch",
        "--dir",
        directory.toString(),
        "--report",
        report.toString());
    assertThat(report)
        .content()
        .contains("FAILED: device nosuch is not present", "registered files", "\"proven\": false");
  }

  @Test
  void softwareDeviceThatCannotBeLoadedIsNotAdvised() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    String said = assertRefused(
        "cannot unpack libdisni.so below " + file,
        "--device",
        "soft",
        "--dir",
        directory.toString(),
        "--conf",
        "spark.shuffle.rdma.nativeDir=" + file.resolve("natives"));
    assertThat(said).doesNotContain("--device soft");
  }

  /** Returns the addresses of this host that a report must not tell. */
  private static List<String> addresses() throws IOException {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> !address.isLoopbackAddress())
        .map(address -> address.getHostAddress().replaceFirst("%.*", ""))
        .toList();
  }

  /** Returns what the program said. */
  private String assertRefused(String reason, String... arguments) throws Exception {
    Ended ended = run(arguments);
    assertThat(ended.said()).contains(reason);
    assertThat(ended.status()).isEqualTo(2);
    return ended.said();
  }
}
