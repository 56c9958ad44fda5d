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
 * A device that this executor can use, and why it would.
 *
 * @param hardwareName name and optional port of a hardware device; null is the software device
 * @param toBeProven whether it must pass {@link LoopbackCheck} before it is used
 */
record DeviceChoice(@Nullable String hardwareName, boolean toBeProven, String reason) {
  private static final Path HARDWARE = Path.of("/sys/class/infiniband");

  /** A device of bound verbs, and the local address to listen on and connect from. */
  record Bound(Verbs verbs, @Nullable String deviceName, InetAddress address) {}

  /** What {@code spark.shuffle.rdma.device} allows, best first. */
  static List<DeviceChoice> of(RdmaSettings settings) throws IOException, RdmaUnavailableException {
    String setting = "spark.shuffle.rdma.device=" + settings.device();
    return switch (settings.device()) {
      case "none" -> throw new RdmaUnavailableException(setting);
      case "soft" -> List.of(new DeviceChoice(null, false, setting));
      case "auto" -> automatic();
      default -> List.of(new DeviceChoice(settings.device(), false, setting));
    };
  }

  private static List<DeviceChoice> automatic() throws IOException {
    List<DeviceChoice> choices = new ArrayList<>();
    for (String name : activeHardware()) {
      choices.add(new DeviceChoice(name, true, "active hardware that passed a loopback READ"));
    }
    choices.add(new DeviceChoice(
        null,
        false,
        choices.isEmpty() ? "no active RDMA hardware on this host" : "no hardware passed"));
    return choices;
  }

  /**
   * Binds the verbs that this choice needs.
   *
   * @param ownAddress what Spark calls this executor
   */
  Bound bind(RdmaSettings settings, InetAddress ownAddress)
      throws IOException, RdmaUnavailableException {
    Path nativeDir = settings.nativeDir().isEmpty() ? null : Path.of(settings.nativeDir());
    if (hardwareName == null) {
      InetAddress address =
          LocalAddress.choose(settings.address(), LocalAddress.ofThisHost(ownAddress));
      return new Bound(Verbs.openInstead(Provider.SOFT, nativeDir), null, address);
    }
    int colon = hardwareName.indexOf(':');
    String name = colon < 0 ? hardwareName : hardwareName.substring(0, colon);
    Optional<Integer> port = colon < 0
        ? Optional.empty()
        : Optional.of(Integer.parseInt(hardwareName.substring(colon + 1)));
    List<String> present = presentHardware();
    if (!present.contains(name)) {
      throw new RdmaUnavailableException("device "
          + name
          + " is not present; this host has "
          + (present.isEmpty() ? "no RDMA hardware" : String.join(", ", present))
          + ". Correct spark.shuffle.rdma.device, or use auto or soft");
    }
    Verbs verbs = Verbs.openInstead(Provider.SYSTEM, nativeDir);
    List<InetAddress> addresses = addressesOf(verbs.device(name), port);
    if (addresses.isEmpty()) {
      throw new RdmaUnavailableException(
          "device " + hardwareName + " has no active port with an IP address");
    }
    return new Bound(verbs, name, LocalAddress.choose(settings.address(), addresses));
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
}
