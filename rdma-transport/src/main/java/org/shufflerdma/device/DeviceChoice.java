/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.NativeDirectory;
import org.shufflerdma.verbs.PortState;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;
import org.shufflerdma.verbs.VerbsException;

/**
 * A device that this process can use, and why it would.
 *
 * @param hardware where the kernel lists RDMA devices
 * @param ownAddress what Spark calls this process's host
 * @param hardwareName name and optional port of a hardware device; null is the software device
 * @param toBeProven whether it must pass {@link LoopbackCheck} before it is used
 * @param use begins when the choice is bound, if it has not begun, and ends if that fails
 */
public record DeviceChoice(
    Path hardware,
    InetAddress ownAddress,
    @Nullable String hardwareName,
    boolean toBeProven,
    String reason,
    RailUse use) {
  public static final Path HARDWARE = Path.of("/sys/class/infiniband");

  private static final int ANY_PORT = 0;

  private DeviceChoice(
      Path hardware,
      InetAddress ownAddress,
      @Nullable String hardwareName,
      boolean toBeProven,
      String reason) {
    this(hardware, ownAddress, hardwareName, toBeProven, reason, RailUse.none());
  }

  /**
   * A device of bound verbs, and the local address to listen on and connect from.
   *
   * @param use its owner keeps it for as long as it uses the device, and then closes it
   */
  public record Bound(Verbs verbs, @Nullable String deviceName, InetAddress address, RailUse use) {
    /**
     * Returns whether registered memory counts as locked; on the software device only if it is
     * configured so.
     */
    public boolean pins() {
      return verbs.provider() == Provider.SYSTEM
          || "enforce".equals(System.getenv("SOFTVERBS_MEMLOCK"));
    }
  }

  /**
   * Returns the devices that the setting {@code device} allows, best first.
   *
   * @param ownAddress what Spark calls this process's host
   */
  public static List<DeviceChoice> of(RdmaSettings settings, Path hardware, InetAddress ownAddress)
      throws IOException, RdmaUnavailableException {
    if (!settings.rails().isEmpty()) {
      return Rails.choose(settings, hardware, ownAddress, NumaNodes.confining());
    }
    String setting = settings.key("device") + "=" + settings.device();
    return switch (settings.device()) {
      case "none" -> throw new RdmaUnavailableException(setting);
      case "soft" -> List.of(new DeviceChoice(hardware, ownAddress, null, false, setting));
      case "auto" -> automatic(hardware, ownAddress);
      default -> List.of(new DeviceChoice(hardware, ownAddress, settings.device(), false, setting));
    };
  }

  private static List<DeviceChoice> automatic(Path hardware, InetAddress ownAddress)
      throws IOException {
    List<DeviceChoice> choices = new ArrayList<>();
    for (HardwarePort port : HardwarePort.active(hardware, ownAddress)) {
      choices.add(new DeviceChoice(
          hardware, ownAddress, port.name(), true, "active hardware that passed a loopback READ"));
    }
    choices.add(new DeviceChoice(
        hardware,
        ownAddress,
        null,
        false,
        choices.isEmpty() ? "no active RDMA hardware on this host" : "no hardware passed"));
    return choices;
  }

  /** Whether the setting {@code device} names its port, or the device of that. */
  boolean isOf(String named) {
    return hardwareName != null
        && (hardwareName.equals(named) || hardwareName.startsWith(named + ":"));
  }

  /** Binds the verbs that this choice needs. If that fails, the use of the device has ended. */
  public Bound bind(RdmaSettings settings) throws IOException, RdmaUnavailableException {
    use.begin();
    try {
      return bound(settings);
    } catch (Throwable t) {
      use.close();
      throw t;
    }
  }

  private Bound bound(RdmaSettings settings) throws IOException, RdmaUnavailableException {
    NativeDirectory nativeDir =
        NativeDirectory.ofSetting(settings.key("nativeDir"), settings.nativeDir());
    String addressKey = settings.key("address");
    if (hardwareName == null) {
      InetAddress address =
          LocalAddress.choose(addressKey, settings.address(), LocalAddress.ofThisHost(ownAddress));
      return new Bound(Verbs.openInstead(Provider.SOFT, nativeDir), null, address, use);
    }
    int colon = hardwareName.indexOf(':');
    String name = colon < 0 ? hardwareName : hardwareName.substring(0, colon);
    int port = colon < 0 ? ANY_PORT : Integer.parseInt(hardwareName.substring(colon + 1));
    List<String> present = HardwarePort.devices(hardware);
    if (!present.contains(name)) {
      throw new RdmaUnavailableException("device "
          + name
          + " is not present; this host has "
          + (present.isEmpty() ? "no RDMA hardware" : String.join(", ", present))
          + ". Correct "
          + settings.key("device")
          + ", or use auto or soft");
    }
    Verbs verbs = Verbs.openInstead(Provider.SYSTEM, nativeDir);
    DeviceInfo device = verbs.device(name);
    List<LocalAddress> addresses =
        addressesOf(new BoundPort(name, port), device, LocalAddress.ofThisHost(ownAddress));
    if (addresses.isEmpty()) {
      throw new RdmaUnavailableException(
          "device " + hardwareName + " has no active port with an IP address");
    }
    return new Bound(
        verbs, name, LocalAddress.choose(addressKey, settings.address(), addresses), use);
  }

  /** A device, and its port; ANY_PORT where it does not matter. */
  private record BoundPort(@Nullable String device, int port) {}

  /** Returns the addresses that rdma_cm binds to the device and to the port, if that is active. */
  private static List<LocalAddress> addressesOf(
      BoundPort wanted, DeviceInfo device, List<LocalAddress> candidates) throws VerbsException {
    List<LocalAddress> addresses = new ArrayList<>();
    try (EventChannel channel = EventChannel.open()) {
      for (LocalAddress candidate : candidates) {
        BoundPort bound = boundTo(channel, candidate.ip());
        boolean isWanted = Objects.equals(wanted.device, bound.device)
            && (wanted.port == ANY_PORT || wanted.port == bound.port);
        if (isWanted && isActive(device, bound.port)) {
          addresses.add(candidate);
        }
      }
    }
    return addresses;
  }

  private static boolean isActive(DeviceInfo device, int number) {
    return device.ports().stream()
        .anyMatch(port -> port.port() == number && port.state() == PortState.ACTIVE);
  }

  private static BoundPort boundTo(EventChannel channel, InetAddress address)
      throws VerbsException {
    try (ConnectionId id = channel.createId()) {
      try {
        id.bind(new InetSocketAddress(address, 0));
      } catch (VerbsException e) {
        return new BoundPort(null, ANY_PORT); // an address of no RDMA device
      }
      return new BoundPort(id.deviceName(), id.port());
    }
  }
}
