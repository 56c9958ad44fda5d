/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** Chooses in a process whose system libraries are the software device's, as DeviceChoiceTest. */
@Timeout(120)
class DeviceTrialTest {
  private static final byte[] SECRET = new byte[32];
  private static final Path FACADES =
      Path.of("..", "native-verbs", "target", "lib", "softverbs").toAbsolutePath();

  @TempDir
  Path listed;

  public static void main(String[] arguments) throws Exception {
    DeviceTrial trial = DeviceTrial.choose(
        RdmaSettings.from(Map.of(), ""),
        Path.of(arguments[0]),
        DeviceTrial.ownAddress(null),
        SECRET);
    System.out.println("chosen: " + trial.hardwareName() + " is " + trial.deviceName());
  }

  @Test
  @OnSoftDevice("it stands for the hardware")
  void autoGoesOnWithTheNextDeviceWhereTheFirstHasNoAddress() throws Exception {
    assumeThat(DeviceTrial.ownAddress(null).isLoopbackAddress())
        .as("this host has only loopback addresses")
        .isFalse();
    for (String device : List.of("absent0", "softv0")) {
      Path port = Files.createDirectories(listed.resolve(device).resolve("ports/1"));
      Files.writeString(port.resolve("state"), "4: ACTIVE\n");
    }
    Map<String, String> environment = Map.of("LD_LIBRARY_PATH", FACADES.toString());
    try (Jvm jvm = Jvm.start(environment, DeviceTrialTest.class, listed.toString())) {
      assertThat(jvm.awaitLine("chosen: ")).isEqualTo("softv0:1 is softv0");
      jvm.end();
    }
  }

  @Test
  void hardwareThatIsNotThereIsNoDevice() {
    assertThatThrownBy(() -> DeviceTrial.choose(
            RdmaSettings.from(Map.of(), ""), listed, DeviceTrial.ownAddress(null), SECRET))
        .hasMessage("no active RDMA hardware on this host");
  }

  @Test
  void ownAddressIsWhatSparkWouldTake() throws Exception {
    assertThat(DeviceTrial.ownAddress("192.0.2.7").getHostAddress()).isEqualTo("192.0.2.7");
    boolean outside = LocalAddress.ofThisHost(InetAddress.getLoopbackAddress()).stream()
        .anyMatch(address -> !address.ip().isLoopbackAddress());
    assertThat(DeviceTrial.ownAddress(null).isLoopbackAddress()).isEqualTo(!outside);
    assertThatThrownBy(() -> DeviceTrial.ownAddress("no such host"))
        .hasMessageContaining("SPARK_LOCAL_IP=no such host");
  }
}
