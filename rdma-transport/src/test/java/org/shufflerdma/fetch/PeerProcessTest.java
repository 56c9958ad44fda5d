/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.SilentPort;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.ProcessLimits;
import org.shufflerdma.verbs.WcStatus;

/** Fetches between processes: the paths that one process has not, deaths, and device faults. */
@Timeout(120)
class PeerProcessTest extends PeerProcesses {
  @Test
  @OnSoftDevice("forces each path that it has")
  void eachReadPathBringsTheSameBytes() throws Exception {
    FetchPeer.Published published = published(serve(0, 50_000));
    for (String path : List.of("auto", "file", "cma", "wire")) {
      List<String> lines = read(published, 3, "SOFTVERBS_PATH=" + path);
      assertThat(String.join("\n", lines))
          .as(path)
          .isEqualTo(roundsWithoutFailure(3) + "\nmismatches 0 reconnects 0");
    }
  }

  @Test
  @OnSoftDevice("faults are asked of it")
  void aRefusedPostLosesNothing() throws Exception {
    FetchPeer.Published published = published(serve(0, 5_000));
    List<String> lines = read(published, 6, "SOFTVERBS_FAULT=post_send:errno=12,nth=40");
    assertNothingFails(lines, 6, 0, 1);
  }

  @Test
  @OnSoftDevice("faults are asked of it")
  void aConnectionThatDoesNotBringTheCanaryIsNotUsed() throws Exception {
    FetchPeer.Published published = published(serve(0, 5_000));
    List<String> lines = read(published, 2, "SOFTVERBS_FAULT=read:flip=1,nth=1");
    assertThat(lines.get(0)).contains("good 0").contains("15=CANARY");
    assertThat(lines.get(1)).isEqualTo("round 1 good 16 failed {}");
  }

  @Test
  @OnSoftDevice("faults are asked of it")
  void aFlippedBitIsReadAgain() throws Exception {
    FetchPeer.Published published = published(serve(0, 5_000));
    List<String> lines = read(published, 3, "SOFTVERBS_FAULT=read:flip=1,nth=30");
    assertNothingFails(lines, 3, 1, 0);
  }

  /** All that blame a READ; as many at a time as the device takes faults. */
  @ParameterizedTest
  @ValueSource(ints = {1, 6, 11, 16})
  @OnSoftDevice("faults are asked of it")
  void everyErrorStatusFailsItsBlockAlone(int firstStatus) throws Exception {
    FetchPeer.Published published = published(serve(0, 5_000));
    int[] statuses = IntStream.range(firstStatus, firstStatus + 5)
        .filter(status -> status != WcStatus.WR_FLUSH_ERR)
        .filter(status -> PeerFailure.of(status) == PeerFailure.READ_ERROR)
        .toArray();
    String faults = IntStream.range(0, statuses.length)
        .mapToObj(i -> "read:status=" + statuses[i] + ",nth=" + (40 + 60 * i))
        .collect(Collectors.joining(";"));
    int rounds = 30;
    List<String> lines = read(published, rounds, "SOFTVERBS_FAULT=" + faults);
    assertThat(lines).hasSize(rounds + 1);
    List<String> hit = lines.subList(0, rounds).stream()
        .filter(line -> !line.endsWith("failed {}"))
        .toList();
    assertThat(hit).hasSize(statuses.length);
    assertThat(hit)
        .allMatch(line -> line.contains("good 15"))
        .allMatch(line -> line.contains("READ_ERROR") || line.contains("REMOTE_ACCESS"));
    assertThat(lines.get(rounds)).isEqualTo("mismatches 0 reconnects " + statuses.length + "");
  }

  @Test
  @OnSoftDevice("faults are asked of it")
  void aReadThatIsNotAnsweredIsReadAgainOverANewConnection() throws Exception {
    List<String> lines = read(
        published(serve(0, 5_000)),
        12,
        "SOFTVERBS_FAULT=read:status=RETRY_EXC_ERR,nth=40"
            + ";read:status=RNR_RETRY_EXC_ERR,nth=100;read:status=RESP_TIMEOUT_ERR,nth=160");
    assertNothingFails(lines, 12, 0, 3);
  }

  @Test
  void aKilledPeerFailsItsBlocksAndLeavesNoBufferBehind() throws Exception {
    Process server = serve(0, 1_000_000);
    FetchPeer.Published published = published(server);
    try (RdmaTransport transport = TestTransports.open("reader");
        BlockFetcher fetcher = new BlockFetcher(transport, new FetchSettings(2, 1_000, 60_000))) {
      List<BlockRequest> blocks = published.blocks();
      CollectingListener first = new CollectingListener(blocks.size());
      fetcher.fetch(published.peer(), null, blocks, first);
      assertThat(first.await().failures).isEmpty();
      List<CollectingListener> listeners = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        CollectingListener listener = new CollectingListener(blocks.size());
        listeners.add(listener);
        fetcher.fetch(published.peer(), null, blocks, listener);
        if (i == 3) {
          server.destroyForcibly().waitFor();
        }
      }
      for (CollectingListener listener : listeners) {
        listener.await();
        assertThat(listener.blocks.size() + listener.failures.size()).isEqualTo(OUTPUTS);
      }
      assertThat(listeners.get(7).failures).hasSize(OUTPUTS);
      TestTransports.awaitNoLeases(transport);
    }
  }

  @Test
  void blocksOfAnotherProcessAreDelivered() throws Exception {
    FetchPeer.Published published = published(serve(0, 50_000));
    assertNothingFails(read(published, 3), 3, 0, 0);
  }

  /** 10,002 files of peers, where the device may keep 128 open, twice each. */
  @Test
  @OnSoftDevice("it opens files of peers")
  void aReaderThatMayHaveFewFilesOpenReadsThousandsOfOutputs() throws Exception {
    int mayBeOpen = 1024;
    int outputs = 3334;
    assumeThat(ProcessLimits.read().descriptors()).isGreaterThan(outputs + 512);
    List<FetchPeer.Published> servers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      servers.add(
          published(serveMany(Files.createDirectory(directory.resolve("" + i)), outputs, 2_000)));
    }
    Process reader = startReaderWithDescriptors(mayBeOpen, servers);
    try (BufferedReader out = reader.inputReader(StandardCharsets.UTF_8)) {
      for (int round = 0; round < 6; round++) {
        say(reader, "GO " + round % 3);
        assertThat(out.readLine()).isEqualTo("round " + round + " good " + outputs + " failed {}");
        try (Stream<Path> open = Files.list(Path.of("/proc/" + reader.pid() + "/fd"))) {
          assertThat(open.count()).as("files open").isLessThan(mayBeOpen / 2);
        }
      }
    }
  }

  @Test
  void aPeerRestartedOnTheSamePortIsAnotherPeer() throws Exception {
    Process first = serve(0, 1_000);
    FetchPeer.Published stale = published(first);
    first.destroyForcibly().waitFor();
    FetchPeer.Published fresh = published(serve(stale.peer().endpoint().port(), 1_000));
    assertThat(read(stale, 1).get(0)).contains("good 0").contains("NONCE");
    assertThat(read(fresh, 1).get(0)).isEqualTo("round 0 good 16 failed {}");
  }

  @Test
  @OnSoftDevice("elsewhere a stopped process is read all the same")
  void aStoppedPeerIsGivenUpAfterTheProgressTimeoutAndReadAgainLater() throws Exception {
    Process server = serve(0, 5_000);
    Process reader = startReader(published(server), 3_000, 12_000, 0, "SOFTVERBS_PATH=wire");
    BufferedReader out = reader.inputReader(StandardCharsets.UTF_8);
    say(reader, "GO 0");
    assertThat(out.readLine()).isEqualTo("round 0 good 16 failed {}");
    stop(server);
    say(reader, "GO 0");
    assertThat(out.readLine()).startsWith("round 1 good 0").contains("TIMEOUT");
    signal(server, "-CONT");
    say(reader, "GO 0");
    assertThat(out.readLine()).isEqualTo("round 2 good 16 failed {}");
  }

  @Test
  @OnSoftDevice("faults are asked of it")
  void aReaderThatWasStoppedItselfDoesNotGiveItsPeerUp() throws Exception {
    Process server = serve(0, 5_000);
    Process reader = startReader(
        published(server),
        2_000,
        12_000,
        0,
        "SOFTVERBS_PATH=wire",
        "SOFTVERBS_FAULT=frame:op=READ_DATA,delay=1500,nth=50");
    BufferedReader out = reader.inputReader(StandardCharsets.UTF_8);
    say(reader, "GO 0");
    assertThat(out.readLine()).isEqualTo("round 0 good 16 failed {}");
    say(reader, "GO 0");
    TimeUnit.MILLISECONDS.sleep(500); // it waits for what is late now
    stop(reader);
    TimeUnit.MILLISECONDS.sleep(4_000);
    signal(reader, "-CONT");
    assertThat(out.readLine()).isEqualTo("round 1 good 16 failed {}");
    reader.getOutputStream().close();
    assertThat(out.readLine()).isEqualTo("mismatches 0 reconnects 0");
  }

  @Test
  @OnSoftDevice("elsewhere a stopped process is read all the same")
  void aPeerSilentOnRdmaAndTcpIsUnreachable() throws Exception {
    Process server = serve(0, 5_000);
    try (SilentPort silent = SilentPort.open()) {
      Process reader = startReader(
          published(server), 60_000, 7_000, silent.address().getPort(), "SOFTVERBS_PATH=wire");
      BufferedReader out = reader.inputReader(StandardCharsets.UTF_8);
      say(reader, "GO 0");
      assertThat(out.readLine()).isEqualTo("round 0 good 16 failed {}");
      stop(server);
      for (int round = 1; round <= 2; round++) {
        say(reader, "GO 0");
        assertThat(out.readLine())
            .startsWith("round " + round + " good 0")
            .contains("15=PEER_UNREACHABLE");
      }
    } finally {
      signal(server, "-CONT");
    }
  }
}
