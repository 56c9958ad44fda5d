/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.hardware.WayMeasurement.Failure;
import org.shufflerdma.hardware.WayMeasurement.InForce;
import org.shufflerdma.hardware.WayMeasurement.Speed;
import org.shufflerdma.hardware.WayMeasurement.Stage;

class DiagnosisTest extends HostScene {
  private final List<Examined> hosts = new ArrayList<>();
  private final List<Way> ways = new ArrayList<>();
  private Map<String, String> settings = Map.of();
  private double leastMbPerS;

  private void host(String name, int mtu) {
    host(name, mtu, Map.of(), 0, null);
  }

  private void host(
      String name, int mtu, Map<String, Long> risen, double clockMs, @Nullable String lost) {
    TreeMap<String, Long> before = new TreeMap<>(Map.of("symbol_error", 7L, "out_of_sequence", 7L));
    TreeMap<String, Long> after = new TreeMap<>(before);
    risen.forEach((counter, by) -> after.merge(counter, by, Long::sum));
    HostExam exam = new HostExam(
        "mlx5_0:1",
        "10.9.0." + name.charAt(name.length() - 1),
        "eth2",
        mtu,
        new LinkedHashMap<>(),
        new ArrayList<>(),
        before,
        new PairOffer(name, name, 1, 0, 0, 0, 0, 0, 0, new InetSocketAddress(1)));
    hosts.add(new Examined(name, name, exam, clockMs, 1, after, lost));
  }

  private void good(String from, String to, double mbPerS) {
    way(from, to, mbPerS, new InForce(4096, 0, 3, "RoCE v2", 1), null, null);
  }

  private void failed(String from, String to, Stage stage, @Nullable String tcpFailure) {
    way(from, to, 0, null, new Failure(stage, "because"), tcpFailure);
  }

  private void way(
      String from,
      String to,
      double mbPerS,
      @Nullable InForce inForce,
      @Nullable Failure failure,
      @Nullable String tcpFailure) {
    Speed read = failure == null ? new Speed(2, 3, mbPerS) : null;
    Speed tcp = tcpFailure == null ? new Speed(20, 30, mbPerS) : null;
    ways.add(new Way(
        from, to, new WayMeasurement(1, inForce, read, read, failure, tcp, tcp, tcpFailure)));
  }

  private Diagnosis diagnosis() {
    return Diagnosis.of(
        hosts, ways, List.of(), RdmaSettings.from(settings, Options.PREFIX), leastMbPerS);
  }

  private String faults() {
    return diagnosis().faults().stream()
        .map(found ->
            found.where() + ": " + found.fault().what() + " | " + found.fault().mend())
        .collect(Collectors.joining("\n"));
  }

  @Test
  void equalHostsWithGoodWaysHaveNoFault() {
    host("node1", 9000);
    host("node2", 9000);
    good("node1", "node2", 9000);
    good("node2", "node1", 8000);
    assertThat(faults()).isEmpty();
    assertThat(diagnosis().notes()).isEmpty();
    assertThat(new ClusterReport(hosts, ways, diagnosis()).text())
        .contains("RDMA would serve everywhere: 2 hosts examined, RDMA serves on 2 of 2 ways");
  }

  @Test
  void hostWithAnotherMtuThanMostIsToldTheirs() {
    host("node1", 9000);
    host("node2", 1500);
    host("node3", 9000);
    assertThat(faults())
        .isEqualTo("node2: its interface MTU is 1500, and that of others 9000"
            + " | ip link set dev eth2 mtu 9000");
  }

  @Test
  void trafficClassesThatDifferAreOneSettingForAll() {
    good("node1", "node2", 9000);
    good("node3", "node2", 9000);
    way("node2", "node1", 9000, new InForce(4096, 104, 3, "RoCE v2", 1), null, null);
    assertThat(faults())
        .isEqualTo(
            "node2: its traffic class is 104, and that of others 0"
                + " | --conf spark.shuffle.rdma.typeOfService=0, or default_roce_tos of the host (docs/roce.md)");
  }

  @Test
  void trafficClassOtherThanTheSettingIsAFault() {
    settings = Map.of("spark.shuffle.rdma.typeOfService", "104");
    good("node1", "node2", 9000);
    assertThat(faults())
        .startsWith("node1: its traffic class is 0, although spark.shuffle.rdma.typeOfService=104");
  }

  @Test
  void gidTypesThatDifferCannotTalk() {
    good("node1", "node2", 9000);
    good("node3", "node2", 9000);
    way("node2", "node1", 9000, new InForce(4096, 0, 0, "IB/RoCE v1", 1), null, null);
    assertThat(faults())
        .startsWith(
            "node2: its GID type is IB/RoCE v1, and that of others RoCE v2 | echo 'RoCE v2' > ");
  }

  @Test
  void wayThatFailsInOneDirectionIsAFirewalls() {
    host("node1", 1500);
    host("node2", 1500);
    failed("node1", "node2", Stage.CONNECT, null);
    good("node2", "node1", 9000);
    assertThat(faults())
        .startsWith(
            "node1 -> node2: no connection: because; TCP works | `nft list ruleset` on node2")
        .endsWith("; the other direction works");
  }

  @Test
  void wayOnWhichTcpFailsAsWellIsTheNetworks() {
    host("node1", 1500);
    host("node2", 1500);
    failed("node1", "node2", Stage.CONNECT, "timed out");
    failed("node2", "node1", Stage.CONNECT, "timed out");
    assertThat(faults())
        .contains("; TCP fails as well: timed out | `ping 10.9.0.2` on node1: mend link");
  }

  @Test
  void connectionWithoutProbeBlockIsOfAnMtuOnTheWay() {
    host("node1", 9000);
    host("node2", 9000);
    failed("node1", "node2", Stage.PROBE, null);
    assertThat(faults()).contains("`ping -M do -s 8972 10.9.0.2` on node1 must be answered");
  }

  @Test
  void slowWayIsToldNextToTcpAndToTheOthers() {
    good("node1", "node2", 9000);
    good("node2", "node1", 1000);
    assertThat(faults())
        .startsWith(
            "node2 -> node1: READs of 1 MiB bring 1000 MB/s, less than a quarter of the median")
        .contains("TCP is slow there as well");
    leastMbPerS = 10_000;
    assertThat(diagnosis().faults()).hasSize(2);
  }

  @Test
  void countersThatRiseAreToldByWhatTheyMean() throws IOException {
    String port = "sys/class/infiniband/mlx5_0/ports/1/";
    write(port + "counters/symbol_error", "7\n");
    write(port + "hw_counters/out_of_sequence", "9\n");
    Counters read = Counters.read(root, "mlx5_0", 1);
    host(
        "node1",
        1500,
        Map.of("out_of_sequence", read.values().getOrDefault("out_of_sequence", 0L) - 7),
        0,
        null);
    host("node2", 1500, Map.of("symbol_error", 3L), 0, null);
    assertThat(faults())
        .contains(
            "node1: packets were lost: counters of the port rose during the measurements: out_of_sequence by 2 |")
        .contains(
            "node2: the link is bad: counters of the port rose during the measurements: symbol_error by 3 |");
  }

  @Test
  void clockIsANoteAndALostExecutorAFault() {
    host("node1", 1500, Map.of(), 90_000, null);
    host("node2", 1500, Map.of(), 0, "was lost: Command exited with code 137");
    assertThat(faults()).startsWith("node2: executor node2 was lost: Command exited with code 137");
    assertThat(diagnosis().notes())
        .anyMatch(note -> note.fault().what().equals("its clock is 90.0 s ahead of the driver's"));
  }

  @Test
  void deviceWithoutAddressIsMendedOnItsInterface() throws IOException {
    write("sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth0\n");
    Fault fault = Remedies.ofHost(
        "device rxe0 has no active port with an IP address",
        new HostFacts(root),
        RdmaSettings.from(Map.of("spark.shuffle.rdma.device", "rxe0"), Options.PREFIX));
    assertThat(fault.mend())
        .isEqualTo("ip address add ADDRESS/PREFIX dev eth0 && ip link set dev eth0 up");
  }
}
