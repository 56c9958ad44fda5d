/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;

/**
 * Chooses among devices that a folder lists as the kernel does (Documentation/ABI/stable/sysfs-class-infiniband); the
 * other executors of the host are processes that lock the same files.
 */
@Timeout(300)
class RailsTest {
  private static final InetAddress OWN = InetAddress.getLoopbackAddress();
  private static final Set<Integer> ANY_NODE = Set.of();

  @TempDir
  Path listed;

  @TempDir
  Path host;

  private final List<Process> others = new ArrayList<>();
  private final List<DeviceChoice> chosen = new ArrayList<>();

  @AfterEach
  void endTheOthers() throws Exception {
    for (Process other : others) {
      other.destroyForcibly().waitFor();
    }
    for (DeviceChoice choice : chosen) {
      choice.use().close();
    }
  }

  private void port(String device, int port, String state, int numaNode) throws IOException {
    Path folder = Files.createDirectories(listed.resolve(device + "/ports/" + port));
    Files.writeString(folder.resolve("state"), state + "\n");
    Files.writeString(folder.resolve("rate"), "100 Gb/sec (4X EDR)\n");
    Path itself = Files.createDirectories(listed.resolve(device + "/device"));
    Files.writeString(itself.resolve("numa_node"), numaNode + "\n");
  }

  private Path folder() {
    return host.resolve("rails");
  }

  private static RdmaSettings settings(String devices, Path folder) {
    return RdmaSettings.from(
        Map.of("app.rdma.device", devices, "app.rdma.railFolder", folder.toString()), "app.rdma.");
  }

  private List<DeviceChoice> choices(String devices, Set<Integer> nodes) throws Exception {
    List<DeviceChoice> choices = Rails.choose(settings(devices, folder()), listed, OWN, nodes);
    chosen.addAll(choices);
    return choices;
  }

  private String first(String devices) throws Exception {
    return String.valueOf(choices(devices, ANY_NODE).get(0).hardwareName());
  }

  private static Set<String> namesOf(List<DeviceChoice> choices) {
    Set<String> names = new TreeSet<>();
    choices.forEach(choice -> names.add(String.valueOf(choice.hardwareName())));
    return names;
  }

  /** Another executor, which chooses as this one does, says what it has, and keeps it until its input ends. */
  public static void main(String[] arguments) throws Exception {
    DeviceChoice choice = Rails.choose(
            settings(arguments[0], Path.of(arguments[1])), Path.of(arguments[2]), OWN, ANY_NODE)
        .get(0);
    System.out.println(choice.hardwareName() + " " + choice.reason());
    System.out.flush();
    int unused = System.in.read();
  }

  private Process another(String devices) throws IOException {
    Process process = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            RailsTest.class.getName(),
            devices,
            folder().toString(),
            listed.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    others.add(process);
    return process;
  }

  private static String lineOf(Process process) throws IOException {
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    String line = out.readLine();
    assertThat(line).as("what another executor says").isNotNull();
    return line;
  }

  @Test
  void executorsThatStartTogetherSpreadEvenly() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1);
    Map<String, Integer> executors = new TreeMap<>();
    List<Process> started = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      started.add(another("mlx5_0,mlx5_1"));
    }
    for (Process process : started) {
      executors.merge(lineOf(process).split(" ", 2)[0], 1, Integer::sum);
    }
    assertThat(executors).isEqualTo(Map.of("mlx5_0:1", 2, "mlx5_1:1", 2));
    DeviceChoice choice = choices("mlx5_0,mlx5_1", ANY_NODE).get(0);
    assertThat(choice.reason())
        .isEqualTo(
            "one of 2 rails of app.rdma.device=mlx5_0,mlx5_1, used by 2 other executors of this host when this one chose");
    assertThat(choice.toBeProven()).isTrue();
  }

  @Test
  void aRailIsGivenBackByCloseAndByTheEndOfAProcess() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1);
    Process other = another("mlx5_0,mlx5_1");
    String taken = lineOf(other).split(" ", 2)[0];
    String free = taken.equals("mlx5_0:1") ? "mlx5_1:1" : "mlx5_0:1";
    RailLocks locks = RailLocks.in(folder());
    for (int i = 0; i < 8; i++) {
      DeviceChoice choice = choices("mlx5_0,mlx5_1", ANY_NODE).get(0);
      assertThat(choice.hardwareName()).isEqualTo(free);
      choice.use().close();
      choice.use().close(); // does nothing
    }
    other.destroyForcibly().waitFor(); // it gives nothing back itself
    Map<String, Integer> counted =
        locks.choose(List.of("mlx5_0:1", "mlx5_1:1"), executors -> executors);
    assertThat(counted).isEqualTo(Map.of("mlx5_0:1", 0, "mlx5_1:1", 0));
  }

  @Test
  void theNodeOfThisProcessComesBeforeFewerExecutors() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", 0);
    port("mlx5_1", 1, "4: ACTIVE", 1);
    try (Closeable busy = RailLocks.in(folder()).use("mlx5_1:1")) {
      assertThat(busy).isNotNull();
      DeviceChoice near = choices("mlx5_0,mlx5_1", Set.of(1)).get(0);
      assertThat(near.hardwareName()).isEqualTo("mlx5_1:1");
      assertThat(near.reason()).contains(", on this process's NUMA node 1, ");
      near.use().close();
    }
  }

  @Test
  void onlyActivePortsOfTheListAreRails() throws Exception {
    port("mlx4_0", 1, "4: ACTIVE", -1);
    port("mlx4_0", 2, "4: ACTIVE", -1);
    port("mlx5_0", 1, "1: DOWN", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1); // of GPUs
    assertThat(namesOf(choices("mlx4_0,mlx5_0", ANY_NODE))).containsExactly("mlx4_0:1", "mlx4_0:2");
    assertThat(namesOf(choices("mlx4_0:2,mlx5_0,absent", ANY_NODE))).containsExactly("mlx4_0:2");
    assertThatThrownBy(() -> choices("mlx5_0,absent", ANY_NODE))
        .isInstanceOf(RdmaUnavailableException.class)
        .hasMessage(
            "no port of app.rdma.device=mlx5_0,absent is active; this host has mlx4_0, mlx5_0,"
                + " mlx5_1. Bring a port up, correct app.rdma.device, or use auto or soft");
  }

  /**
   * A bond of both ports of a NIC is one device (Linux commit 7907f23adc18, mlx5: RoCE LAG), VLANs are further GIDs of a
   * port (gid_attrs/ndevs), and each virtual function is a device of its own.
   */
  @Test
  void aBondIsOneRailAVlanNoneAndAVirtualFunctionOne() throws Exception {
    port("mlx5_bond_0", 1, "4: ACTIVE", -1);
    port("mlx5_2", 1, "4: ACTIVE", -1);
    Path ofGids = Files.createDirectories(listed.resolve("mlx5_bond_0/ports/1/gid_attrs/ndevs"));
    Files.writeString(ofGids.resolve("0"), "bond0\n");
    Files.writeString(ofGids.resolve("1"), "bond0.100\n");
    assertThat(namesOf(choices("mlx5_bond_0,mlx5_2", ANY_NODE)))
        .containsExactly("mlx5_2:1", "mlx5_bond_0:1");
  }

  @Test
  void withoutAFolderChanceDecides() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1);
    Files.writeString(folder(), "a file, not a folder");
    Set<String> first = new TreeSet<>();
    for (int i = 0; i < 64; i++) {
      first.add(first("mlx5_0,mlx5_1"));
    }
    assertThat(first).containsExactly("mlx5_0:1", "mlx5_1:1");
    assertThat(chosen.get(0).reason())
        .isEqualTo("one of 2 rails of app.rdma.device=mlx5_0,mlx5_1, by chance");
  }

  @Test
  void nobodyElseCanWriteToTheFolder() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1);
    assertThat(choices("mlx5_0,mlx5_1", ANY_NODE).get(0).reason()).contains("used by 0 other");
    assertThat(Files.getAttribute(folder(), "unix:uid")).isEqualTo((int) RailLocks.ownUid());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder())))
        .isEqualTo("rwx------");
    for (String file : List.of("choosing", "mlx5_0:1", "mlx5_1:1")) {
      assertThat(PosixFilePermissions.toString(
              Files.getPosixFilePermissions(folder().resolve(file))))
          .isEqualTo("rw-------");
    }
  }

  @Test
  void aFolderInWhichOthersCouldPlaceLinksIsNotUsed() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", -1);
    port("mlx5_1", 1, "4: ACTIVE", -1);
    Path real = Files.createDirectory(host.resolve("real"));
    Files.createSymbolicLink(folder(), real);
    assertThat(choices("mlx5_0,mlx5_1", ANY_NODE).get(0).reason()).endsWith(", by chance");
    Files.delete(folder());
    Files.createDirectory(folder());
    Files.setPosixFilePermissions(folder(), PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThat(choices("mlx5_0,mlx5_1", ANY_NODE).get(0).reason()).endsWith(", by chance");
    try (Stream<Path> made = Files.list(folder())) {
      assertThat(made).isEmpty();
    }
  }

  @Test
  void aListHasNamesOfDevicesAlone() {
    for (String wrong : List.of(
        "auto,mlx5_0",
        "mlx5_0,soft",
        "none,mlx5_0",
        "mlx5_0,",
        "auto:1",
        "mlx5_0, mlx5_1",
        "mlx5_0,mlx5_0",
        "mlx5_0:1,mlx5_0")) {
      assertThatThrownBy(() -> settings(wrong, folder()))
          .as(wrong)
          .isInstanceOf(InvalidSettingException.class)
          .hasMessageContaining("app.rdma.device=" + wrong);
    }
    assertThat(settings("auto_0,softer", folder()).rails()).containsExactly("auto_0", "softer");
    assertThat(settings("mlx5_0:1", folder()).rails()).isEmpty();
  }
}
