/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.Gid;
import org.shufflerdma.verbs.PortInfo;
import org.shufflerdma.verbs.PortState;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;

/**
 * The device that this executor uses, and why.
 *
 * @param deviceName null where the address alone decides
 * @param address local address to listen on and connect from
 */
record DeviceChoice(Verbs verbs, @Nullable String deviceName, InetAddress address, String reason) {
  private static final Path HARDWARE = Path.of("/sys/class/infiniband");

  /**
   * Chooses by {@code spark.shuffle.rdma.device}.
   *
   * @param ownAddress what Spark calls this executor
   */
  static DeviceChoice of(RdmaSettings settings, InetAddress ownAddress)
      throws RdmaUnavailableException {
    try {
      return switch (settings.device()) {
        case "none" -> throw new RdmaUnavailableException("spark.shuffle.rdma.device=none");
        case "soft" -> soft(settings, ownAddress, "spark.shuffle.rdma.device=soft");
        case "auto" -> automatic(settings, ownAddress);
        default -> named(settings, settings.device());
      };
    } catch (IOException e) {
      throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  private static DeviceChoice soft(RdmaSettings settings, InetAddress ownAddress, String reason)
      throws IOException {
    Verbs verbs = Verbs.open(Provider.SOFT, nativeDir(settings));
    InetAddress address =
        LocalAddress.choose(settings.address(), LocalAddress.ofThisHost(ownAddress));
    return new DeviceChoice(verbs, null, address, reason);
  }

  /** Only a device with an active port makes this process bind the system's verbs. */
  private static DeviceChoice automatic(RdmaSettings settings, InetAddress ownAddress)
      throws IOException, RdmaUnavailableException {
    List<String> active = activeHardware();
    if (active.isEmpty()) {
      return soft(settings, ownAddress, "no active RDMA hardware on this host");
    }
    return named(settings, active.get(0));
  }

  private static DeviceChoice named(RdmaSettings settings, String nameAndPort)
      throws IOException, RdmaUnavailableException {
    int colon = nameAndPort.indexOf(':');
    String name = colon < 0 ? nameAndPort : nameAndPort.substring(0, colon);
    Optional<Integer> port = colon < 0
        ? Optional.empty()
        : Optional.of(Integer.parseInt(nameAndPort.substring(colon + 1)));
    List<String> present = presentHardware();
    if (!present.contains(name)) {
      throw new RdmaUnavailableException("device "
          + name
          + " is not present; this host has "
          + (present.isEmpty() ? "no RDMA hardware" : String.join(", ", present))
          + ". Correct spark.shuffle.rdma.device, or use auto or soft");
    }
    Verbs verbs = Verbs.open(Provider.SYSTEM, nativeDir(settings));
    DeviceInfo device = verbs.devices().stream()
        .filter(candidate -> candidate.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new RdmaUnavailableException("device " + name + " cannot be opened"));
    List<InetAddress> addresses = addressesOf(device, port);
    if (addresses.isEmpty()) {
      throw new RdmaUnavailableException(
          "device " + nameAndPort + " has no active port with an IP address");
    }
    return new DeviceChoice(
        verbs,
        name,
        LocalAddress.choose(settings.address(), addresses),
        "spark.shuffle.rdma.device=" + settings.device());
  }

  private static List<InetAddress> addressesOf(DeviceInfo device, Optional<Integer> wantedPort) {
    List<InetAddress> addresses = new ArrayList<>();
    for (PortInfo port : device.ports()) {
      if (port.state() == PortState.ACTIVE && port.port() == wantedPort.orElse(port.port())) {
        for (Gid gid : port.gids()) {
          InetAddress address = gid.toInetAddress();
          if (!gid.isZero() && !address.isLinkLocalAddress() && !addresses.contains(address)) {
            addresses.add(address);
          }
        }
      }
    }
    return addresses;
  }

  private static List<String> presentHardware() throws IOException {
    List<String> names = new ArrayList<>();
    if (Files.isDirectory(HARDWARE)) {
      try (DirectoryStream<Path> devices = Files.newDirectoryStream(HARDWARE)) {
        devices.forEach(device -> names.add(device.getFileName().toString()));
      }
    }
    return names.stream().sorted().toList();
  }

  private static List<String> activeHardware() throws IOException {
    List<String> active = new ArrayList<>();
    for (String name : presentHardware()) {
      try (DirectoryStream<Path> ports =
          Files.newDirectoryStream(HARDWARE.resolve(name).resolve("ports"))) {
        for (Path port : ports) {
          if (Files.readString(port.resolve("state")).contains("ACTIVE")) {
            active.add(name + ":" + port.getFileName());
          }
        }
      }
    }
    return active.stream().sorted().collect(Collectors.toList());
  }

  private static @Nullable Path nativeDir(RdmaSettings settings) {
    return settings.nativeDir().isEmpty() ? null : Path.of(settings.nativeDir());
  }
}
