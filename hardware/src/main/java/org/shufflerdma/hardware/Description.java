/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.LinkLayer;
import org.shufflerdma.verbs.PortInfo;
import org.shufflerdma.verbs.PortState;
import org.shufflerdma.verbs.QueuePairAttributes;

/**
 * Writes the facts of a host, a device and its ports, and a connection to a report. It leaves out
 * addresses and serial numbers, so that the report can be sent.
 */
record Description(Report report, HostFacts host) {
  private static final long MEBIBYTE = 1 << 20;

  /**
   * Describes the host, which needs no device.
   *
   * @param directory in which files are registered
   */
  void host(Path directory) throws IOException {
    report.fact("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    report.fact("plugin", jarName());
    report.fact("java", System.getProperty("java.runtime.version", "unknown"));
    report.fact("kernel", host.kernel());
    report.fact("registered files", host.registeredFiles());
    report.fact("distribution", host.distribution());
    report.fact("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
    report.fact("memory", host.memoryBytes() / MEBIBYTE + " MiB");
    report.fact("memory of the control group", host.memoryLimit());
    report.fact("NUMA", host.numa());
    report.fact("locked memory", host.lockedMemory());
    report.fact("transparent huge pages", host.hugePages());
    report.fact("IOMMU", host.iommu());
    HostFacts.Mount mount = host.mountOf(directory);
    report.fact(
        "directory",
        mount.type() + " at " + mount.point() + " (" + mount.flags() + ")"
            + (mount.dax() ? ", DAX" : ", no DAX"));
    List<String> devices = host.devices();
    report.fact("RDMA devices", devices.isEmpty() ? "none" : String.join(", ", devices));
  }

  private static String jarName() {
    String place = String.valueOf(Description.class.getResource("Description.class"));
    String jar = place.replaceFirst("!/.*", "");
    return place.equals(jar)
        ? "classes that are in no jar"
        : jar.substring(jar.lastIndexOf('/') + 1);
  }

  /**
   * Describes the device, its limits and its ports.
   *
   * @param soft whether it is the software device
   */
  void device(DeviceInfo info, boolean soft) throws IOException {
    String name = info.name();
    report.fact("device", soft ? name + ", the software device" : name);
    if (!soft) {
      report.fact("driver", host.driver(name));
      report.fact("slot", host.slot(name));
      report.fact("IOMMU of the device", host.iommuOfDevice(name));
      report.fact("memory core", host.memoryCore());
      report.fact("libraries", mappedLibraries());
    }
    report.fact(
        "limits",
        "max_qp_rd_atom " + info.maxQpRdAtom() + ", max_mr " + info.maxMr()
            + ", max_mr_size " + info.maxMrSize() + ", max_cqe " + info.maxCqe()
            + ", on-demand paging "
            + (info.odp() ? "yes" : "no"));
    for (PortInfo port : info.ports()) {
      report.fact(
          "port " + port.port(),
          port.state() + ", " + port.linkLayer() + ", MTU " + port.activeMtuBytes());
      if (!soft) {
        port(new PortFacts(host.root(), name, port.port()), port);
      }
    }
    boolean active = info.ports().stream().anyMatch(port -> port.state() == PortState.ACTIVE);
    report.needed(
        "an active port", active ? Verdict.PROVEN : Verdict.FAILED, "see the ports above");
  }

  private void port(PortFacts facts, PortInfo port) {
    String name = "port " + port.port();
    report.fact("link of " + name, facts.link());
    report.fact("GIDs of " + name, facts.gids(port));
    if (port.linkLayer() == LinkLayer.ETHERNET) {
      report.fact("marks of " + name, facts.marks());
    }
    String netInterface = facts.netInterface();
    if (!"none".equals(netInterface)) {
      report.fact(
          "interface of " + name,
          netInterface + ", MTU " + facts.interfaceMtu() + "; " + FlowControl.of(netInterface)
              + "; ECN " + facts.ecn());
    }
  }

  private static String mappedLibraries() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("/libibverbs.so") || line.contains("/librdmacm.so"))
          .map(line -> line.substring(line.indexOf('/')))
          .distinct()
          .collect(Collectors.joining(", "));
    }
  }

  /** Describes a connection, made with the plugin's parameters, of the named device. */
  void connection(QueuePairAttributes attributes, String device) {
    PortFacts port = new PortFacts(host.root(), device, attributes.port());
    report.fact(
        "connection",
        "port " + attributes.port()
            + (attributes.gidIndex() < 0
                ? ", no GID"
                : ", GID " + attributes.gidIndex() + " (type " + port.gidType(attributes.gidIndex())
                    + ")")
            + ", MTU " + attributes.pathMtuBytes()
            + ", traffic class " + attributes.trafficClass() + ", ACK timeout "
            + Samples.number(ConnectionSettings.ackTimeoutMs(attributes.ackTimeout())) + " ms, "
            + attributes.retryCount() + " retries, " + attributes.maxRdAtomic()
            + " READs in progress");
  }
}
