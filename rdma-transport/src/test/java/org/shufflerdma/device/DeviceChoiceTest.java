/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.TestDevice;

/**
 * Chooses in processes whose system libraries are the software device's, so that it stands for the
 * hardware; the kernel's list of devices is a directory that says so.
 */
@Timeout(120)
class DeviceChoiceTest {
  private static final Path FACADES =
      Path.of("..", "native-verbs", "target", "lib", "softverbs").toAbsolutePath();

  @TempDir
  Path listed;

  @TempDir
  Path directory;

  @BeforeEach
  void oneActiveDevice() throws Exception {
    Path port = Files.createDirectories(listed.resolve("softv0/ports/1"));
    Files.writeString(port.resolve("state"), "4: ACTIVE\n");
  }

  /** Prints what is chosen and what was refused before, as an executor would. */
  public static void main(String[] arguments) throws Exception {
    RdmaSettings settings = RdmaSettings.from(
        Map.of(
            "app.rdma.device",
            arguments[0],
            "app.rdma.address",
            arguments.length > 3 ? arguments[3] : ""),
        "app.rdma.");
    Path hardware = Path.of(arguments[1]);
    List<String> refused = new ArrayList<>();
    for (DeviceChoice choice :
        DeviceChoice.of(settings, hardware, InetAddress.getLoopbackAddress())) {
      try {
        DeviceChoice.Bound bound = choice.bind(settings);
        if (choice.toBeProven()) {
          prove(bound, Path.of(arguments[2]));
        }
        System.out.println("choice: " + bound.verbs().provider() + " " + bound.deviceName() + " "
            + bound.verbs().devices().size() + " " + choice.reason() + " " + refused
            + (arguments.length > 3 ? " at " + bound.address().getHostAddress() : ""));
        return;
      } catch (IOException | RdmaUnavailableException e) {
        refused.add(e.getMessage());
      }
    }
    System.out.println("choice: NONE " + refused);
  }

  private static void prove(DeviceChoice.Bound bound, Path directory) throws IOException {
    TransportSettings settings = TestTransports.defaults(
        new InetSocketAddress(bound.address(), 0), PoolSettings.ofBudget(1 << 20));
    try (RdmaTransport transport = RdmaTransport.open(
            settings, bound.deviceName(), new LocalIdentity("app", "1", new byte[] {1}));
        RegisteredArena arena = TestTransports.arena(transport);
        MapOutputRegistry registry = new MapOutputRegistry(
            transport.protectionDomain(),
            arena,
            new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
            0,
            System::nanoTime);
        BlockFetcher fetcher = new BlockFetcher(transport, FetchSettings.of(1, 2_000))) {
      LoopbackCheck.run(transport, registry, fetcher, "1", directory);
    }
  }

  private String choose(String device, Map<String, String> environment) throws Exception {
    return choose(device, listed, environment);
  }

  private String choose(
      String device, Path hardware, Map<String, String> environment, String... address)
      throws Exception {
    List<String> arguments =
        new ArrayList<>(List.of(device, hardware.toString(), directory.toString()));
    arguments.addAll(List.of(address));
    try (Jvm jvm =
        Jvm.start(environment, DeviceChoiceTest.class, arguments.toArray(String[]::new))) {
      String choice = jvm.awaitLine("choice: ");
      jvm.end();
      return choice;
    }
  }

  /** Loopback addresses belong to no device of rdma_cm. */
  private static void assumeAnAddressOfADevice() throws Exception {
    boolean isThere = LocalAddress.ofThisHost(InetAddress.getLoopbackAddress()).stream()
        .anyMatch(address -> !address.ip().isLoopbackAddress());
    assumeThat(isThere)
        .as("this host has no address but loopback and link-local ones")
        .isTrue();
  }

  @Test
  void autoTakesTheDeviceOfTheSystem() throws Exception {
    assumeThat(TestDevice.isSoft()).as("the tests run on the software device").isFalse();
    assertThat(choose("auto", DeviceChoice.HARDWARE, Map.of()))
        .isEqualTo(
            "SYSTEM " + TestDevice.name() + " 1 active hardware that passed a loopback READ []");
  }

  @Test
  @OnSoftDevice("it stands for the hardware")
  void autoTakesAnActiveDeviceThatReadsAFileBack() throws Exception {
    assumeAnAddressOfADevice();
    assertThat(choose("auto", Map.of("LD_LIBRARY_PATH", FACADES.toString())))
        .isEqualTo("SYSTEM softv0 1 active hardware that passed a loopback READ []");
  }

  @Test
  @OnSoftDevice("it stands for the hardware")
  void autoGoesOnWithTheSoftwareDeviceWhereFilesCannotBeRegistered() throws Exception {
    assumeAnAddressOfADevice();
    String choice = choose(
        "auto",
        Map.of("LD_LIBRARY_PATH", FACADES.toString(), "SOFTVERBS_FAULT", "reg_mr:errno=95,nth=2"));
    assertThat(choice).startsWith("SOFT null 1 no hardware passed [a file cannot be registered");
  }

  @Test
  @OnSoftDevice("it stands for the hardware")
  void autoGoesOnWithTheSoftwareDeviceWhereAReadFails() throws Exception {
    assumeAnAddressOfADevice();
    String choice = choose(
        "auto",
        Map.of("LD_LIBRARY_PATH", FACADES.toString(), "SOFTVERBS_FAULT", "read:status=11,nth=3"));
    assertThat(choice)
        .startsWith("SOFT null 1 no hardware passed [a loopback READ failed")
        .contains("REM_OP_ERR");
  }

  @Test
  void autoTakesTheSoftwareDeviceWhereNoPortIsActive() throws Exception {
    Files.writeString(listed.resolve("softv0/ports/1/state"), "1: DOWN\n");
    assertThat(choose("auto", Map.of()))
        .isEqualTo("SOFT null 1 no active RDMA hardware on this host []");
  }

  @Test
  void anInterfaceGivesTheAddressThatIsPublished() throws Exception {
    assumeThat(TestDevice.isSoft()).as("the tests run on the software device").isFalse();
    String chosen = " 1 app.rdma.device=" + TestDevice.name() + " [] at ";
    assertThat(choose(TestDevice.name(), DeviceChoice.HARDWARE, Map.of(), "eth0"))
        .isEqualTo("SYSTEM " + TestDevice.name() + chosen + TestDevice.address().getHostAddress());
    assertThat(choose(TestDevice.name(), DeviceChoice.HARDWARE, Map.of(), "fd00::/8"))
        .isEqualTo(
            "SYSTEM " + TestDevice.name() + chosen + TestDevice.address6().getHostAddress());
    assertThat(choose(TestDevice.name(), DeviceChoice.HARDWARE, Map.of(), "lo"))
        .startsWith("NONE [app.rdma.address=lo matches none of the local addresses {")
        .contains(TestDevice.address().getHostAddress() + " (eth0)");
  }

  @Test
  @OnSoftDevice("any address is one of its own")
  void anInterfaceGivesTheAddressOfTheSoftwareDevice() throws Exception {
    assertThat(choose("soft", listed, Map.of(), "::1")).endsWith(" at 0:0:0:0:0:0:0:1");
    assertThat(choose("soft", listed, Map.of(), "lo")).endsWith(" at 127.0.0.1");
    assertThat(choose("soft", listed, Map.of(), "eth77"))
        .startsWith("NONE [app.rdma.address=eth77 matches none of")
        .contains("127.0.0.1 (lo)");
  }

  @Test
  @OnSoftDevice("it stands for the hardware")
  void aNamedPortTakesTheAddressesThatAreBoundToIt() throws Exception {
    assumeAnAddressOfADevice();
    Map<String, String> facades = Map.of("LD_LIBRARY_PATH", FACADES.toString());
    assertThat(choose("softv0:1", facades))
        .isEqualTo("SYSTEM softv0 1 app.rdma.device=softv0:1 []");
    assertThat(choose("softv0:2", facades))
        .isEqualTo("NONE [device softv0:2 has no active port with an IP address]");
  }

  @Test
  void aNamedDeviceThatIsAbsentIsRefusedWithWhatThereIs() throws Exception {
    assertThat(choose("mlx5_0", Map.of()))
        .isEqualTo("NONE [device mlx5_0 is not present; this host has softv0."
            + " Correct app.rdma.device, or use auto or soft]");
  }
}
