/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The facts of a host that can change how registered files behave, from its /proc and /sys.
 *
 * @param root the directory of proc, sys and etc, which is / except in tests
 */
record HostFacts(Path root) {
  private static final List<String> IOMMU_PARAMETERS =
      List.of("intel_iommu=", "amd_iommu=", "iommu=", "iommu.passthrough=", "iommu.strict=");
  private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})");

  /** The number of CAP_IPC_LOCK among the capabilities: linux/capability.h. */
  private static final int CAP_IPC_LOCK = 14;

  /** The index of the processor among the fields of proc_pid_stat(5) after the program's name. */
  private static final int PROCESSOR = 36;

  String kernel() {
    return Proc.text(root.resolve("proc/sys/kernel/osrelease"));
  }

  /**
   * Says what registration does to the pages of a file by the kernel's version. The tests that show
   * it are in docs/rxe.md; kernels of distributions may have code of newer ones.
   */
  String registeredFiles() {
    Matcher version = VERSION.matcher(kernel());
    if (!version.lookingAt()) {
      return "unknown";
    }
    int number = Integer.parseInt(version.group(1)) * 1000 + Integer.parseInt(version.group(2));
    if (number <= 6_001) {
      return "this version makes each page dirty, and the kernel writes it to disk again";
    }
    return number >= 6_012
        ? "this version leaves the pages clean"
        : "not known of this version: 6.1 makes each page dirty, 6.12 leaves them clean";
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

  /** Returns the limit of the control group, such as a container's. */
  String memoryLimit() {
    long bytes = new Cgroup(root).limitBytes();
    return bytes == Long.MAX_VALUE ? "no limit" : (bytes >> 20) + " MiB";
  }

  /** Returns how much of the memory this process can still get. */
  long availableBytes() throws IOException {
    return Math.min(meminfo("MemAvailable"), new Cgroup(root).roomBytes());
  }

  private long meminfo(String key) throws IOException {
    return Proc.number(root.resolve("proc/meminfo"), key) << 10;
  }

  /** Returns the limits of locked memory, and whether this process is bound by them. */
  String lockedMemory() {
    String limits = "unknown";
    for (String line : Proc.text(root.resolve("proc/self/limits")).split("\n", -1)) {
      String[] fields = line.split(" {2,}", -1);
      if (fields.length >= 3 && fields[0].equals("Max locked memory")) {
        limits = "soft " + kibibytes(fields[1]) + ", hard " + kibibytes(fields[2]);
      }
    }
    String effective = Proc.value(root.resolve("proc/self/status"), "CapEff");
    boolean exempt = effective.matches("[0-9a-f]{1,16}")
        && (Long.parseUnsignedLong(effective, 16) >>> CAP_IPC_LOCK & 1) == 1;
    return limits + (exempt ? "; CAP_IPC_LOCK, so that no limit binds" : "; no CAP_IPC_LOCK");
  }

  private static String kibibytes(String bytes) {
    return bytes.matches("[0-9]{1,18}") ? Long.parseLong(bytes) / 1024 + " KiB" : bytes;
  }

  /** Returns which NUMA nodes there are, which this process may use, and where this thread is. */
  String numa() {
    Path status = root.resolve("proc/self/status");
    return "nodes " + Proc.text(root.resolve("sys/devices/system/node/online"))
        + "; this process may use processors " + Proc.value(status, "Cpus_allowed_list")
        + " and memory of nodes " + Proc.value(status, "Mems_allowed_list")
        + "; it runs on node " + nodeOfThisThread();
  }

  private String nodeOfThisThread() {
    String stat = Proc.text(root.resolve("proc/thread-self/stat"));
    // The program's name, which may hold blanks, ends with the last parenthesis: proc_pid_stat(5).
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ", -1);
    if (fields.length <= PROCESSOR) {
      return "unknown";
    }
    return Proc.names(root.resolve("sys/devices/system/cpu/cpu" + fields[PROCESSOR])).stream()
        .filter(name -> name.matches("node[0-9]+"))
        .map(name -> name.substring("node".length()))
        .findFirst()
        .orElse("unknown");
  }

  /** Returns the IOMMUs that the kernel uses, and what its command line says about them. */
  String iommu() {
    List<String> units = Proc.names(root.resolve("sys/class/iommu"));
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
        + ", model " + Proc.text(of(device).resolve("hca_type"))
        + ", board " + Proc.text(of(device).resolve("board_id"));
  }

  String slot(String device) {
    Path pci = of(device).resolve("device");
    if (!Files.exists(pci)) {
      return "none";
    }
    return Proc.target(pci) + ", " + Proc.text(pci.resolve("current_link_speed")) + " x"
        + Proc.text(pci.resolve("current_link_width")) + ", NUMA node "
        + Proc.text(pci.resolve("numa_node")) + ", processors "
        + Proc.text(pci.resolve("local_cpulist"));
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

  /** Returns every device that the kernel lists, with the states of its ports. */
  List<String> devices() {
    Path all = root.resolve("sys/class/infiniband");
    return Proc.names(all).stream()
        .flatMap(name -> Proc.names(all.resolve(name).resolve("ports")).stream()
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
    /** The options without those that have values, among which are addresses and names of users. */
    String flags() {
      return Arrays.stream(options.split(","))
          .filter(o -> !o.contains("=") || o.startsWith("dax="))
          .collect(Collectors.joining(","));
    }

    boolean dax() {
      return Arrays.stream(options.split(","))
          .anyMatch(o -> o.equals("dax") || o.equals("dax=always"));
    }
  }

  private Path of(String device) {
    return root.resolve("sys/class/infiniband").resolve(device);
  }
}
