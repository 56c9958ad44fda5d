/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.RdmaSettings;

class AdviceTest {
  private static final List<String> PORTS = List.of("mlx5_0:1 is up", "mlx5_0:2 is up");

  private final Report report = new Report();

  private Advice advice(String device) {
    return new Advice(
        report,
        RdmaSettings.from(
            Map.of(
                "spark.shuffle.rdma.device",
                device,
                "spark.shuffle.rdma.maxRegisteredBytes",
                "64g"),
            Options.PREFIX));
  }

  @Test
  void smallHostRegistersHalfOfItsMemory() {
    advice("auto").onMemory(64L << 30);
    assertThat(report.text()).contains("spark.shuffle.rdma.maxRegisteredBytes=32g");
  }

  @Test
  void patientDeviceGetsAShorterAckTimeoutThatStopsItInTime() {
    advice("auto").onDeadPeer(new DeadPeer.GivenUp(40, 19));
    assertThat(report.text())
        .contains("spark.shuffle.rdma.ackTimeout=536ms")
        .contains("took 40.0 s")
        .doesNotContain("fetchTimeout");
    RdmaSettings suggested =
        RdmaSettings.from(Map.of("spark.shuffle.rdma.ackTimeout", "536ms"), Options.PREFIX);
    assertThat(suggested.connection().ackTimeout()).as("two less than 19").isEqualTo(17);
  }

  @Test
  void deviceThatIsPatientWithAShortAckTimeoutGetsFewerRetries() {
    advice("auto").onDeadPeer(new DeadPeer.GivenUp(32, 14));
    assertThat(report.text()).contains("spark.shuffle.rdma.retryCount=1 ");
  }

  @Test
  void autoAmongSeveralPortsIsReplacedByTheOneMeasured() {
    advice("auto").onDevice("mlx5_0:1", PORTS);
    assertThat(report.text()).contains("spark.shuffle.rdma.device=mlx5_0:1 ");
  }

  @Test
  void whatIsSetAlreadyIsNotSuggested() {
    advice("mlx5_0:1").onDevice("mlx5_0:1", PORTS);
    advice("mlx5_0").onDevice("mlx5_0", PORTS);
    assertThat(report.text()).contains("none: the defaults fit");
  }

  @Test
  void largeHostWithOneQuickDeviceNeedsNone() {
    advice("auto").onMemory(512L << 30);
    advice("auto").onDeadPeer(new DeadPeer.GivenUp(4, 18));
    advice("auto").onDevice("mlx5_0:1", PORTS.subList(0, 1));
    assertThat(report.text()).contains("none: the defaults fit");
  }
}
