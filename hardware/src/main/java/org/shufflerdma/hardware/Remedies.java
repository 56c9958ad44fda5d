/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.List;
import org.shufflerdma.config.RdmaSettings;

/** Knows the command that mends what keeps a host from using a device. */
final class Remedies {
  private Remedies() {}

  /**
   * @param reason why the device cannot be used, as the plugin says it
   */
  static Fault ofHost(String reason, HostFacts host, RdmaSettings settings) {
    return new Fault(reason, mend(reason, host, settings));
  }

  private static String mend(String reason, HostFacts host, RdmaSettings settings) {
    if (reason.contains("limit of locked memory")) {
      return LockedMemory.COMMAND;
    }
    if (reason.contains("no active port with an IP address")) {
      return withAddress(host, settings.device());
    }
    if (reason.contains("no active RDMA hardware")) {
      List<String> ports = host.devices();
      return ports.isEmpty()
          ? "install the driver of the NIC so that `rdma link` lists it, or set "
              + settings.key("device") + "=soft to try the software device"
          : "ip link set dev INTERFACE up, so that a port of " + String.join(", ", ports)
              + " becomes ACTIVE in `rdma link`";
    }
    if (reason.contains("is not present")) {
      return "--conf " + settings.key("device") + "=auto, or one of those that `rdma link` lists";
    }
    return "java -jar shuffle-rdma.jar --device " + settings.device()
        + " on this host, which tells more";
  }

  private static String withAddress(HostFacts host, String device) {
    int colon = device.indexOf(':');
    PortFacts port = new PortFacts(
        host.root(),
        colon < 0 ? device : device.substring(0, colon),
        colon < 0 ? 1 : Integer.parseInt(device.substring(colon + 1)));
    String netInterface = port.netInterface();
    String dev = "none".equals(netInterface) ? "INTERFACE" : netInterface;
    return "ip address add ADDRESS/PREFIX dev " + dev + " && ip link set dev " + dev + " up";
  }
}
