/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.verbs.OnSoftDevice;

/**
 * Fetches on a device that fails on request ({@code docs/fault-injection.md}). Each block comes with
 * its bytes or is reported failed, and when the reader ends no sink is leased; it says so itself.
 */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class DeviceFaultTest extends PeerProcesses {
  private static final Pattern ROUND = Pattern.compile("round (\\d+) good (\\d+) failed \\{(.*)}");
  private static final int BLOCK_BYTES = 5_000;
  /** Past the READs of the canary and of the descriptors. */
  private static final int DATA_READ = 40;

  private List<String> readWith(String fault, int rounds) throws Exception {
    return read(published(serve(0, BLOCK_BYTES)), rounds, "SOFTVERBS_FAULT=" + fault);
  }

  private static List<String> failedRounds(List<String> lines) {
    return lines.stream()
        .filter(line -> line.startsWith("round") && !line.endsWith("failed {}"))
        .toList();
  }

  @Test
  void aLostCompletionEndsAtTheProgressTimeout() throws Exception {
    List<String> lines = readImpatiently(
        published(serve(0, BLOCK_BYTES)),
        2_000,
        4,
        "SOFTVERBS_FAULT=completion:drop,opcode=READ,nth=5");
    assertThat(failedRounds(lines)).hasSize(1).allMatch(line -> line.contains("=TIMEOUT"));
    assertThat(lines.get(3)).isEqualTo("round 3 good 16 failed {}");
    assertThat(lines.get(4)).startsWith("mismatches 0");
  }

  @Test
  void aFlushThatNeverArrivesDelaysTheEndAndKeepsNoBuffer() throws Exception {
    List<String> lines = readWith(
        "completion:drop,result=WR_FLUSH_ERR,count=all;read:status=REM_OP_ERR,nth=" + DATA_READ, 5);
    assertThat(failedRounds(lines)).hasSize(1);
    assertThat(lines.get(4)).isEqualTo("round 4 good 16 failed {}");
    assertThat(lines.get(5)).startsWith("mismatches 0");
  }

  @Test
  void aCompletionThatComesTwiceCountsOnce() throws Exception {
    assertNothingFails(readWith("completion:duplicate,every=2", 6), 6, 0, 0);
  }

  @Test
  void lateCompletionsAreWaitedFor() throws Exception {
    assertNothingFails(readWith("completion:delay=700,opcode=READ,nth=5,every=3", 4), 4, 0, 0);
  }

  /** The watchdog has given the connection up; what arrives until it is gone still counts. */
  @Test
  void aCompletionDuringTheEndOfItsConnectionHarmsNobody() throws Exception {
    List<String> lines = readImpatiently(
        published(serve(0, BLOCK_BYTES)),
        1_500,
        4,
        "SOFTVERBS_FAULT=completion:delay=3500,opcode=READ,nth=5");
    assertEveryBlockHasAnOutcome(lines, 4);
    assertThat(lines.get(3)).isEqualTo("round 3 good 16 failed {}");
    assertThat(lines.get(4)).startsWith("mismatches 0");
  }

  @Test
  void aLinkThatIsCutIsReplacedOnce() throws Exception {
    FetchPeer.Published published = published(serve(0, BLOCK_BYTES));
    List<String> lines = read(
        published,
        5,
        "SOFTVERBS_PATH=wire",
        "SOFTVERBS_FAULT=frame:op=READ_DATA,cut,nth=" + DATA_READ);
    assertThat(lines.get(4)).isEqualTo("round 4 good 16 failed {}");
    assertThat(lines.get(5)).isEqualTo("mismatches 0 reconnects 1");
  }

  @Test
  void aBitThatFlipsOnTheWireIsReadAgain() throws Exception {
    FetchPeer.Published published = published(serve(0, BLOCK_BYTES));
    List<String> lines = read(
        published,
        4,
        "SOFTVERBS_PATH=wire",
        "SOFTVERBS_FAULT=frame:op=READ_DATA,flip,offset=4321,min_length=5000,nth=20");
    assertNothingFails(lines, 4, 1, 0);
  }

  @Test
  void aShortCutThatIsTakenAwayCostsNothing() throws Exception {
    FetchPeer.Published published = published(serve(0, BLOCK_BYTES));
    assertNothingFails(
        read(published, 4, "SOFTVERBS_PATH=cma", "SOFTVERBS_FAULT=cma:errno=EPERM,nth=20"),
        4,
        0,
        0);
  }

  @Test
  void aRejectedConnectFailsItsFetchAndTheNextOneConnects() throws Exception {
    FetchPeer.Published published =
        published(serve(0, BLOCK_BYTES, "SOFTVERBS_FAULT=cm_frame:op=REQUEST,reason=28"));
    List<String> lines = read(published, 2);
    assertThat(lines.get(0)).startsWith("round 0 good 0").contains("15=CONNECT");
    assertThat(lines.get(1)).isEqualTo("round 1 good 16 failed {}");
  }

  @Test
  void aRefusedStepOfAConnectFailsItsFetchAndTheNextOneConnects() throws Exception {
    FetchPeer.Published published = published(serve(0, BLOCK_BYTES));
    for (String fault : List.of(
        "cm_event:type=ADDR_RESOLVED,event=ADDR_ERROR,errno=EHOSTUNREACH",
        "create_qp:errno=ENOMEM",
        "modify_qp:errno=EINVAL,state=RTR",
        "cm_event:type=CONNECT_RESPONSE,event=UNREACHABLE,errno=ETIMEDOUT")) {
      List<String> lines = read(published, 3, "SOFTVERBS_FAULT=" + fault);
      assertThat(lines.get(0)).as(fault).startsWith("round 0 good 0");
      assertThat(lines.get(2)).as(fault).isEqualTo("round 2 good 16 failed {}");
      assertThat(lines.get(3)).as(fault).startsWith("mismatches 0");
    }
  }

  @Test
  void aSlowConnectIsWaitedFor() throws Exception {
    FetchPeer.Published published =
        published(serve(0, BLOCK_BYTES, "SOFTVERBS_FAULT=cm_frame:op=REQUEST,delay=1000"));
    assertNothingFails(
        read(published, 2, "SOFTVERBS_FAULT=cm_event:delay=500,type=CONNECT_RESPONSE"), 2, 0, 0);
  }

  @Test
  void aConnectThatIsNeverAnsweredTimesOut() throws Exception {
    List<String> lines = readWith("cm_event:type=CONNECT_RESPONSE,drop", 2);
    assertThat(lines.get(0)).startsWith("round 0 good 0").contains("15=CONNECT_TIMEOUT");
    assertThat(lines.get(1)).isEqualTo("round 1 good 16 failed {}");
  }

  /** The canary and the descriptors are shorter than what fails. */
  @Test
  void aPeerOfWhichOnlyDataCannotBeReadIsLeftAlone() throws Exception {
    FetchPeer.Published published = published(serve(0, 100_000));
    List<String> lines =
        read(published, 4, "SOFTVERBS_FAULT=read:status=REM_OP_ERR,min_length=100000,count=all");
    assertThat(lines.get(3)).startsWith("round 3 good 0").contains("0=BREAKER", "15=BREAKER");
  }

  @Test
  void aFatalEventOfTheQueuePairReplacesTheConnection() throws Exception {
    List<String> lines = readWith("read:raise=QP_FATAL,nth=" + DATA_READ, 5);
    assertThat(lines.get(4)).isEqualTo("round 4 good 16 failed {}");
    assertThat(lines.get(5)).startsWith("mismatches 0");
  }

  @Test
  void afterAFatalEventOfTheDeviceNothingComesByRdma() throws Exception {
    int rounds = 100; // the event takes its time on a busy machine
    List<String> lines = readWith("read:raise=DEVICE_FATAL,nth=" + DATA_READ, rounds);
    assertThat(lines.get(0)).isEqualTo("round 0 good 16 failed {}");
    assertThat(lines.get(rounds - 1)).startsWith("round 99 good 0").contains("15=CLOSED");
    assertThat(lines.get(rounds)).startsWith("mismatches 0");
  }

  @Test
  void afterAnOverrunOfTheCompletionQueueNothingComesByRdma() throws Exception {
    List<String> lines = readWith("completion:overrun,opcode=READ,nth=6", 6);
    assertThat(lines.get(0)).isEqualTo("round 0 good 16 failed {}");
    assertEveryBlockHasAnOutcome(lines, 6);
    assertThat(lines.get(5)).startsWith("round 5 good 0").contains("15=CLOSED");
    assertThat(lines.get(6)).startsWith("mismatches 0");
  }

  @Test
  void buffersOfAQueuePairThatCannotBeDestroyedAreNeverUsedAgain() throws Exception {
    List<String> lines = readWith(
        "completion:drop,result=WR_FLUSH_ERR,count=all;destroy_qp:errno=EBUSY"
            + ";read:status=REM_OP_ERR,nth=" + DATA_READ,
        5);
    assertThat(failedRounds(lines)).hasSize(1);
    assertThat(lines).contains("round 4 good 16 failed {}"); // among what the log says of it
    assertThat(lines).anyMatch(line -> line.matches("zombies [1-9]\\d* undestroyed 1"));
  }

  /** The device has room for one; the first peer is not read from any more. */
  @Test
  void aQueuePairThatIsMissingIsTakenFromAnIdlePeer() throws Exception {
    List<FetchPeer.Published> servers =
        List.of(published(serve(0, BLOCK_BYTES)), published(serve(0, BLOCK_BYTES)));
    Process reader =
        startReader(servers, 30_000, 12_000, 0, "SOFTVERBS_FAULT=create_qp:errno=ENOMEM,nth=2");
    BufferedReader out = reader.inputReader(StandardCharsets.UTF_8);
    say(reader, "GO 0");
    assertThat(out.readLine()).isEqualTo("round 0 good 16 failed {}");
    TimeUnit.MILLISECONDS.sleep(1_500); // so long it must have been idle
    say(reader, "GO 1");
    assertThat(out.readLine()).isEqualTo("round 1 good 16 failed {}");
    say(reader, "GO 0");
    assertThat(out.readLine()).isEqualTo("round 2 good 16 failed {}");
    reader.getOutputStream().close();
    assertThat(out.readLine()).isEqualTo("mismatches 0 reconnects 1");
  }

  @Test
  void aDeviceThatCannotResizeItsQueueHasAllOfItFromTheStart() throws Exception {
    assertNothingFails(readWith("resize_cq:errno=EOPNOTSUPP", 2), 2, 0, 0);
  }

  @Test
  void aProviderThatCannotBeToldOfReadsMakesAQueuePairAllTheSame() throws Exception {
    assertNothingFails(readWith("create_qp:errno=EOPNOTSUPP", 2), 2, 0, 0);
  }

  @Test
  void eventsOfThePortEndNothing() throws Exception {
    assertNothingFails(
        readWith(
            "read:raise=PORT_ERR,nth=40;read:raise=PORT_ACTIVE,nth=50;read:raise=GID_CHANGE,nth=60",
            6),
        6,
        0,
        0);
  }

  /** Of everything a little; the seed makes it the same again. */
  @Test
  void whateverFailsTheBytesAreRight() throws Exception {
    int rounds = 60;
    List<String> lines = readImpatiently(
        published(serve(0, BLOCK_BYTES)),
        2_000,
        rounds,
        "SOFTVERBS_FAULT=seed=1"
            + ";read:flip,probability=5;read:status=REM_OP_ERR,probability=2"
            + ";completion:duplicate,probability=50;completion:delay=30,probability=50"
            + ";post_send:errno=ENOMEM,probability=2;cma:errno=EFAULT,probability=20"
            + ";cm_event:delay=100,probability=100;reg_mr:errno=ENOMEM,probability=100");
    assertThat(lines).hasSize(rounds + 1);
    assertThat(assertEveryBlockHasAnOutcome(lines, rounds)).isGreaterThan(rounds * OUTPUTS / 2);
  }

  /** How many came by RDMA. */
  private static int assertEveryBlockHasAnOutcome(List<String> lines, int rounds) {
    int good = 0;
    for (String line : lines.subList(0, rounds)) {
      Matcher round = ROUND.matcher(line);
      assertThat(round.matches()).as(line).isTrue();
      int failed = round.group(3).isEmpty() ? 0 : round.group(3).split(", ").length;
      assertThat(Integer.parseInt(round.group(2)) + failed).as(line).isEqualTo(OUTPUTS);
      good += Integer.parseInt(round.group(2));
    }
    return good;
  }
}
