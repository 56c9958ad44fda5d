/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.shufflerdma.verbs.Gid;
import org.shufflerdma.verbs.LinkLayer;
import org.shufflerdma.verbs.PortInfo;

/**
 * What the kernel tells about one port of a device and the interface behind it: its link, its GIDs,
 * and what marks and paces its packets. The files are those of the kernel's
 * ABI/stable/sysfs-class-infiniband and ABI/testing/configfs-rdma_cm; tc, ecn and qos are of
 * NVIDIA's own driver.
 *
 * @param root the directory of sys, which is / except in tests
 * @param port from 1
 */
record PortFacts(Path root, String device, int port) {
  private static final String NONE = "none";

  /** Returns state, kind, speed and width of the link. */
  String link() {
    Path ports = ofPort();
    return Proc.text(ports.resolve("state")) + ", " + Proc.text(ports.resolve("phys_state")) + ", "
        + Proc.text(ports.resolve("link_layer")) + ", " + Proc.text(ports.resolve("rate"));
  }

  /** Returns index, type and kind of each GID in use, but not the GIDs, which are addresses. */
  String gids(PortInfo info) {
    return info.gids().stream()
        .map(gid -> gid.index() + " " + gidType(gid.index()) + " " + kind(gid, info.linkLayer()))
        .collect(Collectors.joining(", "));
  }

  private static String kind(Gid gid, LinkLayer linkLayer) {
    if (linkLayer == LinkLayer.INFINIBAND) {
      return "of a GUID";
    }
    InetAddress address = gid.toInetAddress();
    if (address instanceof Inet4Address) {
      return "of IPv4";
    }
    return address.isLinkLocalAddress() ? "of link-local IPv6" : "of IPv6";
  }

  /** Returns what an entry of the GID table is for, such as "RoCE v2". */
  String gidType(int index) {
    return Proc.text(ofPort().resolve("gid_attrs/types/" + index));
  }

  /** Returns the network interface behind the port, or "none". */
  String netInterface() {
    String name = Proc.text(ofPort().resolve("gid_attrs/ndevs/0"));
    return "unknown".equals(name) ? NONE : name;
  }

  String interfaceMtu() {
    return Proc.text(ofInterface().resolve("mtu"));
  }

  /** Returns what the host sets for the packets of connections that set nothing themselves. */
  String marks() {
    Path defaults = root.resolve("sys/kernel/config/rdma_cm/" + device + "/ports/" + port);
    return "default_roce_mode " + Proc.readable(defaults.resolve("default_roce_mode"))
        + ", default_roce_tos " + Proc.readable(defaults.resolve("default_roce_tos"))
        + ", tc/" + port + "/traffic_class "
        + Proc.readable(ofDevice().resolve("tc/" + port + "/traffic_class"))
        + ", trust " + Proc.readable(ofInterface().resolve("qos/trust"));
  }

  /** Returns the priorities for which the interface takes part in ECN for RoCE (DCQCN). */
  String ecn() {
    return "notification point " + priorities("roce_np") + ", reaction point "
        + priorities("roce_rp");
  }

  private String priorities(String point) {
    Path enabled = ofInterface().resolve("ecn/" + point + "/enable");
    List<String> all = Proc.names(enabled);
    if (all.isEmpty()) {
      return "not readable";
    }
    String on = all.stream()
        .filter(priority -> "1".equals(Proc.text(enabled.resolve(priority))))
        .collect(Collectors.joining(" "));
    return on.isEmpty() ? "off" : "on for priorities " + on;
  }

  private Path ofInterface() {
    return root.resolve("sys/class/net").resolve(netInterface());
  }

  private Path ofDevice() {
    return root.resolve("sys/class/infiniband").resolve(device);
  }

  private Path ofPort() {
    return ofDevice().resolve("ports/" + port);
  }
}
