/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;

/** Starts {@link FetchPeer}s, talks with them, and ends them after each test. */
abstract class PeerProcesses {
  static final int OUTPUTS = 16;

  @TempDir
  Path directory;

  private final List<Process> processes = new ArrayList<>();

  @AfterEach
  void endProcesses() throws Exception {
    for (Process process : processes) {
      process.getOutputStream().close();
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    }
  }

  private Process start(List<String> environment, String... arguments) throws IOException {
    return ended(FetchPeer.start(environment, arguments));
  }

  /** It ends after the test. */
  private Process ended(Process process) {
    processes.add(process);
    return process;
  }

  Process serve(int port, int blockBytes, String... environment) throws IOException {
    return start(
        List.of(environment),
        "serve",
        directory.toString(),
        Integer.toString(port),
        Integer.toString(OUTPUTS),
        Integer.toString(blockBytes));
  }

  /** Starts a server of so many outputs. */
  Process serveMany(Path directory, int outputs, int blockBytes) throws IOException {
    return start(
        List.of(),
        "serve",
        directory.toString(),
        "0",
        Integer.toString(outputs),
        Integer.toString(blockBytes));
  }

  /** Starts a reader that may have so many files open. */
  Process startReaderWithDescriptors(int most, List<FetchPeer.Published> servers)
      throws IOException {
    Process reader = ended(FetchPeer.startUnder(
        List.of("prlimit", "--nofile=%1$d:%1$d".formatted(most)),
        List.of(),
        "read",
        "30000",
        "12000",
        "0",
        Integer.toString(servers.size())));
    tell(reader, servers);
    return reader;
  }

  static FetchPeer.Published published(Process server) throws IOException {
    return FetchPeer.Published.read(server.inputReader(StandardCharsets.UTF_8));
  }

  Process startReader(
      FetchPeer.Published published,
      int progressTimeoutMs,
      int peerLostTimeoutMs,
      int tcpPort,
      String... environment)
      throws IOException {
    return startReader(
        List.of(published), progressTimeoutMs, peerLostTimeoutMs, tcpPort, environment);
  }

  Process startReader(
      List<FetchPeer.Published> servers,
      int progressTimeoutMs,
      int peerLostTimeoutMs,
      int tcpPort,
      String... environment)
      throws IOException {
    Process reader = start(
        List.of(environment),
        "read",
        Integer.toString(progressTimeoutMs),
        Integer.toString(peerLostTimeoutMs),
        Integer.toString(tcpPort),
        Integer.toString(servers.size()));
    tell(reader, servers);
    return reader;
  }

  private static void tell(Process reader, List<FetchPeer.Published> servers) throws IOException {
    for (FetchPeer.Published server : servers) {
      for (String line : server.lines()) {
        say(reader, line);
      }
    }
  }

  static void say(Process process, String line) throws IOException {
    process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
  }

  /** Lines of a process that reads {@code rounds} times from a server. */
  List<String> read(FetchPeer.Published published, int rounds, String... environment)
      throws Exception {
    return readImpatiently(published, 30_000, rounds, environment);
  }

  List<String> readImpatiently(
      FetchPeer.Published published, int progressTimeoutMs, int rounds, String... environment)
      throws Exception {
    Process reader = startReader(published, progressTimeoutMs, 12_000, 0, environment);
    for (int i = 0; i < rounds; i++) {
      say(reader, "GO 0");
    }
    reader.getOutputStream().close();
    try (BufferedReader out = reader.inputReader(StandardCharsets.UTF_8)) {
      return out.lines().toList();
    }
  }

  static void signal(Process process, String signal) throws Exception {
    int exit =
        new ProcessBuilder("kill", signal, Long.toString(process.pid())).start().waitFor();
    assertThat(exit).isZero();
  }

  /** Stops a process. The signal is heeded when one of its threads gets a turn; until then others run. */
  static void stop(Process process) throws Exception {
    signal(process, "-STOP");
    Await.until("no thread runs any more", 20_000, () -> isStopped(process));
  }

  private static boolean isStopped(Process process) {
    Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
    try (Stream<Path> each = Files.list(threads)) {
      for (Path thread : each.toList()) {
        String stat = Files.readString(thread.resolve("stat"));
        if (!stat.substring(stat.lastIndexOf(')')).startsWith(") T")) {
          return false;
        }
      }
      return true;
    } catch (IOException e) { // a thread has just ended
      return false;
    }
  }

  static void assertNothingFails(List<String> lines, int rounds, int mismatches, int reconnects) {
    assertThat(String.join("\n", lines))
        .isEqualTo(roundsWithoutFailure(rounds) + "\nmismatches " + mismatches + " reconnects "
            + reconnects);
  }

  static String roundsWithoutFailure(int rounds) {
    return IntStream.range(0, rounds)
        .mapToObj(round -> "round " + round + " good " + OUTPUTS + " failed {}")
        .collect(Collectors.joining("\n"));
  }
}
