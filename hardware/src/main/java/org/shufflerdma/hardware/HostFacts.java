/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The facts of a host that can change how registered files behave, from its /proc and /sys.
 *
 * @param root the directory of proc, sys and etc, which is / except in tests
 */
record HostFacts(Path root) {
  private static final List<String> IOMMU_PARAMETERS =
      List.of("intel_iommu=", "amd_iommu=", "iommu=", "iommu.passthrough=", "iommu.strict=");

  String kernel() {
    return Proc.text(root.resolve("proc/sys/kernel/osrelease"));
  }

  String distribution() {
    for (String line : Proc.text(root.resolve("etc/os-release")).split("\n", -1)) {
      if (line.startsWith("PRETTY_NAME=")) {
        return line.substring("PRETTY_NAME=".length()).replace("\"", "");
      }
    }
    return "unknown";
  }

  /** Returns the memory of the host, or of the container in which this process runs. */
  long memoryBytes() throws IOException {
    return Math.min(meminfo("MemTotal"), new Cgroup(root).limitBytes());
  }

  /** Returns how much of the memory this process can still get. */
  long availableBytes() throws IOException {
    return Math.min(meminfo("MemAvailable"), new Cgroup(root).roomBytes());
  }

  private long meminfo(String key) throws IOException {
    return Proc.number(root.resolve("proc/meminfo"), key) << 10;
  }

  /** Returns the IOMMUs that the kernel uses, and what its command line says about them. */
  String iommu() {
    List<String> units = names(root.resolve("sys/class/iommu"));
    String parameters = Arrays.stream(Proc.text(root.resolve("proc/cmdline")).split("\\s+"))
        .filter(word -> IOMMU_PARAMETERS.stream().anyMatch(word::startsWith))
        .collect(Collectors.joining(" "));
    return (units.isEmpty() ? "off: the kernel uses none" : "on: " + String.join(", ", units))
        + (parameters.isEmpty() ? "" : "; command line: " + parameters);
  }

  /**
   * Returns whether an IOMMU translates the device's addresses; with a group of type identity it
   * passes them on unchanged.
   */
  boolean iommuTranslates(String device) {
    return iommuOfDevice(device).startsWith("DMA");
  }

  /** Returns how the device's addresses are translated: DMA, DMA-FQ, identity, or none. */
  String iommuOfDevice(String device) {
    String group = Proc.target(of(device).resolve("device/iommu_group"));
    Path type = root.resolve("sys/kernel/iommu_groups/" + group + "/type");
    return "none".equals(group) ? group : Proc.text(type);
  }

  String hugePages() {
    return Proc.text(root.resolve("sys/kernel/mm/transparent_hugepage/enabled"));
  }

  /** Returns whether the device is on a bus; those of soft-RoCE are not. */
  boolean isOfHardware(String device) {
    return Files.exists(of(device).resolve("device"));
  }

  String driver(String device) {
    if (!isOfHardware(device)) {
      return "none (soft-RoCE or another device without hardware)";
    }
    String driver = Proc.target(of(device).resolve("device/driver"));
    return driver
        + ", firmware " + Proc.text(of(device).resolve("fw_ver"))
        + ", board " + Proc.text(of(device).resolve("board_id"));
  }

  String slot(String device) {
    Path pci = of(device).resolve("device");
    if (!Files.exists(pci)) {
      return "none";
    }
    return Proc.target(pci) + ", " + Proc.text(pci.resolve("current_link_speed")) + " x"
        + Proc.text(pci.resolve("current_link_width")) + ", NUMA node "
        + Proc.text(pci.resolve("numa_node"));
  }

  /** Returns whose code pins memory: the kernel's own ib_core, or a vendor's that replaces it. */
  String memoryCore() {
    Path module = root.resolve("sys/module/ib_core");
    if (!Files.isDirectory(module)) {
      return "built into the kernel, or not loaded";
    }
    boolean foreign = Proc.text(module.resolve("taint")).contains("O")
        || Files.isDirectory(root.resolve("sys/module/mlx_compat"));
    return foreign ? "ib_core of a vendor, not the kernel's" : "the kernel's own ib_core";
  }

  /** Returns the network interface behind a port, or "none". */
  String interfaceOf(String device, int port) {
    String name = Proc.text(of(device).resolve("ports/" + port + "/gid_attrs/ndevs/0"));
    return "unknown".equals(name) ? "none" : name;
  }

  String interfaceMtu(String netInterface) {
    return Proc.text(root.resolve("sys/class/net/" + netInterface + "/mtu"));
  }

  /** Returns every device that the kernel lists, with the states of its ports. */
  List<String> devices() {
    Path all = root.resolve("sys/class/infiniband");
    return names(all).stream()
        .flatMap(name -> names(all.resolve(name).resolve("ports")).stream()
            .map(port -> name + ":" + port + " is "
                + Proc.text(all.resolve(name).resolve("ports").resolve(port).resolve("state"))))
        .toList();
  }

  /** Returns the type and options of the mount on which a directory lies. */
  Mount mountOf(Path directory) throws IOException {
    Path real = directory.toRealPath();
    Mount best = new Mount("/", "unknown", "");
    for (String line : Proc.text(root.resolve("proc/self/mounts")).split("\n", -1)) {
      String[] fields = line.split(" ", -1);
      if (fields.length >= 4) {
        String point = fields[1].replace("\\040", " ");
        // Of several mounts on one point, the last is on top.
        if (real.startsWith(point) && point.length() >= best.point().length()) {
          best = new Mount(point, fields[2], fields[3]);
        }
      }
    }
    return best;
  }

  record Mount(String point, String type, String options) {
    boolean dax() {
      return Arrays.stream(options.split(","))
          .anyMatch(o -> o.equals("dax") || o.equals("dax=always"));
    }
  }

  private Path of(String device) {
    return root.resolve("sys/class/infiniband").resolve(device);
  }

  private static List<String> names(Path directory) {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      return List.of();
    }
  }
}
