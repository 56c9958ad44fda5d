/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A port of an RDMA device as the kernel lists it (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * @param interfaces the network interfaces that share the port
 * @param gigabitsPerSecond of the link; 0 if the kernel does not tell
 * @param numaNode of the device; -1 if the kernel does not tell, or knows none
 */
record HardwarePort(
    String device, String number, Set<String> interfaces, double gigabitsPerSecond, int numaNode) {
  private static final int NO_NODE = -1;

  /** Such as "100 Gb/sec (4X EDR)". */
  private static final Pattern RATE = Pattern.compile("([0-9.]+) Gb/sec.*");

  /** What the setting {@code device} calls it. */
  String name() {
    return device + ":" + number;
  }

  /** Whether the setting {@code device} names it, with its port or without. */
  boolean isNamed(String device) {
    return device.equals(this.device) || device.equals(name());
  }

  /** The names of all devices. */
  static List<String> devices(Path hardware) throws IOException {
    return names(hardware).stream().sorted().toList();
  }

  /**
   * The active ports, best first: those of the interface that has {@code ownAddress}, because other executors
   * reach this one there, then the fastest, then by name. In a container the kernel may name an interface of the
   * host that has the same name as one of the container's; then only the order is wrong.
   */
  static List<HardwarePort> active(Path hardware, InetAddress ownAddress) throws IOException {
    String ownInterface = interfaceOf(ownAddress);
    List<HardwarePort> active = new ArrayList<>();
    for (String device : devices(hardware)) {
      Path ports = hardware.resolve(device).resolve("ports");
      for (String number : names(ports)) {
        if (textOf(ports.resolve(number).resolve("state")).contains("ACTIVE")) {
          active.add(read(hardware.resolve(device), number));
        }
      }
    }
    active.sort(Comparator.comparing((HardwarePort port) -> !port.interfaces.contains(ownInterface))
        .thenComparing(HardwarePort::gigabitsPerSecond, Comparator.reverseOrder())
        .thenComparing(HardwarePort::name));
    return active;
  }

  /** Empty if no interface has the address, or that cannot be told. */
  private static String interfaceOf(InetAddress address) {
    try {
      NetworkInterface found = NetworkInterface.getByInetAddress(address);
      return found == null ? "" : found.getName();
    } catch (SocketException e) {
      return "";
    }
  }

  private static HardwarePort read(Path device, String number) throws IOException {
    Path port = device.resolve("ports").resolve(number);
    Set<String> interfaces = new HashSet<>();
    Path ofGids = port.resolve("gid_attrs/ndevs");
    for (String gid : names(ofGids)) {
      interfaces.add(textOf(ofGids.resolve(gid)));
    }
    interfaces.remove("");
    if (interfaces.isEmpty()) {
      // On InfiniBand a GID has no interface, but the device has those of IPoIB, of all its ports.
      interfaces.addAll(names(device.resolve("device/net")));
    }
    Matcher rate = RATE.matcher(textOf(port.resolve("rate")));
    return new HardwarePort(
        device.getFileName().toString(),
        number,
        interfaces,
        rate.matches() ? Double.parseDouble(rate.group(1)) : 0,
        nodeOf(device));
  }

  private static int nodeOf(Path device) {
    String node = textOf(device.resolve("device/numa_node"));
    return node.matches("[0-9]+") ? Integer.parseInt(node) : NO_NODE;
  }

  /** Empty if the kernel does not tell: reading the entry of an unused GID fails. */
  private static String textOf(Path attribute) {
    try {
      return Files.readString(attribute).strip();
    } catch (IOException e) {
      return "";
    }
  }

  private static List<String> names(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.map(entry -> entry.getFileName().toString()).toList();
    }
  }
}
