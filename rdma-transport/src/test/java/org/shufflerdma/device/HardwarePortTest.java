/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads folders that have the form of the kernel's. */
class HardwarePortTest {
  private static final InetAddress OWN = InetAddress.getLoopbackAddress(); // lo has it

  @TempDir
  Path listed;

  private Path port(String device, int number, String state, String rate) throws IOException {
    Path port = Files.createDirectories(listed.resolve(device + "/ports/" + number));
    Files.writeString(port.resolve("state"), state + "\n");
    Files.writeString(port.resolve("rate"), rate + "\n");
    return port;
  }

  private List<String> active() throws IOException {
    return HardwarePort.active(listed, OWN).stream().map(HardwarePort::name).toList();
  }

  @Test
  void portsThatAreNotActiveAreLeftOut() throws Exception {
    port("mlx5_0", 1, "1: DOWN", "100 Gb/sec (4X EDR)");
    port("mlx5_0", 2, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    port("mlx5_1", 1, "2: INIT", "100 Gb/sec (4X EDR)");
    assertThat(active()).containsExactly("mlx5_0:2");
    assertThat(HardwarePort.devices(listed)).containsExactly("mlx5_0", "mlx5_1");
  }

  @Test
  void theFasterIsTakenBeforeTheFirstByName() throws Exception {
    port("bnxt_re0", 1, "4: ACTIVE", "2.5 Gb/sec (1X SDR)");
    port("irdma0", 1, "4: ACTIVE", "25 Gb/sec (1X EDR)");
    port("mlx5_0", 1, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    port("mlx5_1", 1, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    Files.delete(port("rxe0", 1, "4: ACTIVE", "").resolve("rate"));
    assertThat(active())
        .containsExactly("mlx5_0:1", "mlx5_1:1", "irdma0:1", "bnxt_re0:1", "rxe0:1");
  }

  @Test
  void theInterfaceOfTheOwnAddressComesBeforeSpeed() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", "400 Gb/sec (4X NDR)");
    Path own = port("mlx5_1", 1, "4: ACTIVE", "25 Gb/sec (1X EDR)");
    Path interfaces = Files.createDirectories(own.resolve("gid_attrs/ndevs"));
    Files.writeString(interfaces.resolve("0"), "");
    Files.writeString(interfaces.resolve("1"), "lo\n");
    assertThat(active()).containsExactly("mlx5_1:1", "mlx5_0:1");
  }

  @Test
  void ofTwoPortsOfADeviceTheOneOfTheOwnAddressComesFirst() throws Exception {
    Path other = port("mlx4_0", 1, "4: ACTIVE", "40 Gb/sec (4X QDR)");
    Path own = port("mlx4_0", 2, "4: ACTIVE", "40 Gb/sec (4X QDR)");
    Files.createDirectories(other.resolve("gid_attrs/ndevs"));
    Files.createDirectories(own.resolve("gid_attrs/ndevs"));
    Files.writeString(other.resolve("gid_attrs/ndevs/0"), "eth77\n");
    Files.writeString(own.resolve("gid_attrs/ndevs/0"), "lo\n");
    Files.createDirectories(listed.resolve("mlx4_0/device/net/lo"));
    Files.createDirectories(listed.resolve("mlx4_0/device/net/eth77"));
    assertThat(active()).containsExactly("mlx4_0:2", "mlx4_0:1");
  }

  @Test
  void onInfiniBandTheDeviceTellsTheInterface() throws Exception {
    port("mlx5_0", 1, "4: ACTIVE", "400 Gb/sec (4X NDR)");
    port("mlx5_1", 1, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    Files.createDirectories(listed.resolve("mlx5_1/device/net/lo"));
    assertThat(active()).containsExactly("mlx5_1:1", "mlx5_0:1");
  }

  @Test
  void aHostWithoutDevicesHasNone() throws Exception {
    assertThat(HardwarePort.active(listed.resolve("absent"), OWN)).isEmpty();
  }
}
