/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.shufflerdma.verbs.Gid;
import org.shufflerdma.verbs.LinkLayer;
import org.shufflerdma.verbs.PortInfo;
import org.shufflerdma.verbs.PortState;

class PortFactsTest extends HostScene {
  private static final String PORT = "sys/class/infiniband/mlx5_0/ports/1/";
  private static final long LINK_LOCAL = 0xfe80L << 48;

  private PortFacts port() {
    return new PortFacts(root, "mlx5_0", 1);
  }

  @Test
  void linkIsToldWithSpeedAndWidth() throws IOException {
    write(PORT + "state", "4: ACTIVE\n");
    write(PORT + "phys_state", "5: LinkUp\n");
    write(PORT + "link_layer", "Ethernet\n");
    write(PORT + "rate", "100 Gb/sec (4X EDR)\n");
    assertThat(port().link()).isEqualTo("4: ACTIVE, 5: LinkUp, Ethernet, 100 Gb/sec (4X EDR)");
  }

  @Test
  void gidsAreToldByKindAndNotByAddress() throws IOException {
    write(PORT + "gid_attrs/types/0", "IB/RoCE v1\n");
    write(PORT + "gid_attrs/types/3", "RoCE v2\n");
    List<Gid> gids = List.of(new Gid(0, LINK_LOCAL, 7), new Gid(3, 0, 0xffff_0a010203L));
    assertThat(port().gids(info(LinkLayer.ETHERNET, gids)))
        .isEqualTo("0 IB/RoCE v1 of link-local IPv6, 3 RoCE v2 of IPv4");
    assertThat(port().gids(info(LinkLayer.INFINIBAND, gids.subList(0, 1))))
        .isEqualTo("0 IB/RoCE v1 of a GUID");
  }

  private static PortInfo info(LinkLayer linkLayer, List<Gid> gids) {
    return new PortInfo(1, PortState.ACTIVE, 1024, 1 << 30, linkLayer, gids);
  }

  @Test
  void marksAndEcnAreToldWhereTheyCanBeRead() throws IOException {
    assertThat(port().marks())
        .isEqualTo("default_roce_mode not readable, default_roce_tos not readable,"
            + " tc/1/traffic_class not readable, trust not readable");
    assertThat(port().ecn())
        .isEqualTo("notification point not readable, reaction point not readable");
    write(PORT + "gid_attrs/ndevs/0", "eth2\n");
    write("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "RoCE v2\n");
    write("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "104\n");
    write("sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n");
    write("sys/class/net/eth2/qos/trust", "dscp\n");
    write("sys/class/net/eth2/ecn/roce_np/enable/3", "1\n");
    write("sys/class/net/eth2/ecn/roce_np/enable/4", "0\n");
    write("sys/class/net/eth2/ecn/roce_rp/enable/3", "0\n");
    assertThat(port().marks())
        .isEqualTo("default_roce_mode RoCE v2, default_roce_tos 104,"
            + " tc/1/traffic_class Global tclass=106, trust dscp");
    assertThat(port().ecn())
        .isEqualTo("notification point on for priorities 3, reaction point off");
  }

  @Test
  void countersThatHaveChangedAreTold() throws IOException {
    write(PORT + "counters/port_rcv_data", "100\n");
    write(PORT + "counters/link_downed", "2\n");
    write(PORT + "hw_counters/out_of_sequence", "5\n");
    write(PORT + "hw_counters/lifespan", "10\n");
    Counters before = Counters.read(root, "mlx5_0", 1);
    write(PORT + "counters/port_rcv_data", "350\n");
    write(PORT + "hw_counters/lifespan", "20\n");
    Report report = new Report();
    Counters.read(root, "mlx5_0", 1).tellSince(before, report);
    assertThat(report.text()).containsPattern("counters +port_rcv_data 250\n");
    assertThat(report.json()).contains("link_downed", "out_of_sequence").doesNotContain("lifespan");
  }

  @Test
  void deviceWithoutCountersIsTold() {
    Counters none = Counters.read(root, "softv0", 1);
    Report report = new Report();
    none.tellSince(none, report);
    assertThat(report.text()).contains("not readable: the kernel has none of this device");
  }
}
