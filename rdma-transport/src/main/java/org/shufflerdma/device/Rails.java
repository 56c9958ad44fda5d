/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The active ports of the devices that the setting {@code device} lists, of which an executor uses one. The best one is
 * on a NUMA node to which the process is confined, and among those it is the one that the fewest executors of this user
 * use on this host. Among equals chance decides, so that executors spread, too, where they do not see one another.
 */
final class Rails {
  private static final Logger LOG = LoggerFactory.getLogger(Rails.class);

  /** In a path that users must not share. */
  private static final String UID = "{uid}";

  private final RdmaSettings settings;
  private final Path hardware;
  private final InetAddress ownAddress;
  private final List<HardwarePort> ports;
  private final Set<Integer> ownNodes;

  private Rails(
      RdmaSettings settings,
      Path hardware,
      InetAddress ownAddress,
      List<HardwarePort> ports,
      Set<Integer> ownNodes) {
    this.settings = settings;
    this.hardware = hardware;
    this.ownAddress = ownAddress;
    this.ports = ports;
    this.ownNodes = ownNodes;
  }

  /**
   * Returns the choices, best first, and lets other executors see that this one uses the first.
   *
   * @param hardware where the kernel lists RDMA devices
   * @param ownNodes to which this process is confined; empty if it is not
   */
  static List<DeviceChoice> choose(
      RdmaSettings settings, Path hardware, InetAddress ownAddress, Set<Integer> ownNodes)
      throws IOException, RdmaUnavailableException {
    List<HardwarePort> ports = new ArrayList<>(HardwarePort.active(hardware, ownAddress));
    ports.removeIf(port -> settings.rails().stream().noneMatch(port::isNamed));
    String setting = settings.key("device") + "=" + settings.device();
    if (ports.isEmpty()) {
      List<String> present = HardwarePort.devices(hardware);
      throw new RdmaUnavailableException("no port of " + setting + " is active; this host has "
          + (present.isEmpty() ? "no RDMA hardware" : String.join(", ", present))
          + ". Bring a port up, correct " + settings.key("device") + ", or use auto or soft");
    }
    for (String name : settings.rails()) {
      if (ports.stream().noneMatch(port -> port.isNamed(name))) {
        LOG.warn("{}: {} has no active port on this host and is left out", setting, name);
      }
    }
    return new Rails(settings, hardware, ownAddress, ports, ownNodes).choices();
  }

  private List<DeviceChoice> choices() {
    Collections.shuffle(ports);
    Map<String, Integer> executors = new HashMap<>();
    RailLocks locks = null;
    RailUse first = null;
    try {
      RailLocks found = RailLocks.in(folder());
      locks = found;
      List<String> names = ports.stream().map(HardwarePort::name).toList();
      first = found.choose(names, counted -> {
        executors.putAll(counted);
        order(executors);
        return useOf(ports.get(0), found);
      });
    } catch (IOException | InvalidPathException e) {
      LOG.info(
          "Chance decides between rails, as this executor does not see which ones the others of its host use: {}. Set {}"
              + " to a folder on a local file system that belongs to the user of the executors, and that no other user"
              + " can write to",
          e.toString(),
          settings.key("railFolder"));
      order(executors);
      first = useOf(ports.get(0), locks);
    }
    List<DeviceChoice> choices = new ArrayList<>();
    for (HardwarePort port : ports) {
      RailUse use = choices.isEmpty() ? first : new RailUse(locks, port.name(), positionOf(port));
      choices.add(
          new DeviceChoice(hardware, ownAddress, port.name(), true, reason(port, executors), use));
    }
    return choices;
  }

  private Path folder() throws IOException {
    return Path.of(settings.railFolder().replace(UID, Long.toString(RailLocks.ownUid())));
  }

  /** Which the others see from here on, if they can. */
  private RailUse useOf(HardwarePort port, @Nullable RailLocks locks) {
    RailUse use = new RailUse(locks, port.name(), positionOf(port));
    use.begin();
    return use;
  }

  private void order(Map<String, Integer> executors) {
    ports.sort(Comparator.comparing((HardwarePort port) -> !isNear(port))
        .thenComparing(port -> executors.getOrDefault(port.name(), 0)));
  }

  private int positionOf(HardwarePort port) {
    int position = 1;
    for (String name : settings.rails()) {
      if (port.isNamed(name)) {
        return position;
      }
      position++;
    }
    throw new IllegalArgumentException(port.name() + " is not one of " + settings.rails());
  }

  private boolean isNear(HardwarePort port) {
    return ownNodes.contains(port.numaNode());
  }

  private String reason(HardwarePort port, Map<String, Integer> executors) {
    Integer others = executors.get(port.name());
    return "one of " + ports.size() + " rails of " + settings.key("device") + "="
        + settings.device()
        + (isNear(port) ? ", on this process's NUMA node " + port.numaNode() : "")
        + (others == null
            ? ", by chance"
            : ", used by " + others + " other executor" + (others == 1 ? "" : "s")
                + " of this host when this one chose");
  }
}
