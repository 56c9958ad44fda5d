/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The active ports of the devices that the setting {@code device} lists, of which an executor uses one: the best is of
 * the NUMA nodes to which the process is confined, and used by fewer executors of this host than the others. Among
 * equals chance decides, so that executors spread, too, where they do not see one another.
 */
final class Rails {
  private static final Logger LOG = LoggerFactory.getLogger(Rails.class);

  private final RdmaSettings settings;
  private final List<HardwarePort> ports;
  private final Set<Integer> ownNodes;

  /**
   * @param ports active ones
   * @param ownNodes to which this process is confined; empty if it is not
   */
  private Rails(RdmaSettings settings, List<HardwarePort> ports, Set<Integer> ownNodes) {
    this.settings = settings;
    this.ports = ports;
    this.ownNodes = ownNodes;
  }

  /** Returns the choices, best first, and lets other executors see that this one uses the first. */
  static List<DeviceChoice> choose(
      RdmaSettings settings, Path hardware, InetAddress ownAddress, Set<Integer> ownNodes)
      throws IOException, RdmaUnavailableException {
    List<HardwarePort> ports = HardwarePort.active(hardware, ownAddress).stream()
        .filter(port -> settings.rails().stream().anyMatch(port::isNamed))
        .toList();
    if (ports.isEmpty()) {
      List<String> present = HardwarePort.devices(hardware);
      throw new RdmaUnavailableException("no port of " + settings.key("device") + "="
          + settings.device() + " is active; this host has "
          + (present.isEmpty() ? "no RDMA hardware" : String.join(", ", present))
          + ". Correct " + settings.key("device") + ", or use auto or soft");
    }
    Rails rails = new Rails(settings, ports, ownNodes);
    try {
      RailLocks locks = RailLocks.in(Path.of(settings.railFolder()));
      return locks.choose(ports.stream().map(HardwarePort::name).toList(), executors -> {
        List<DeviceChoice> choices = rails.choices(hardware, ownAddress, locks, executors);
        choices.get(0).use().begin();
        return choices;
      });
    } catch (IOException e) {
      LOG.info(
          "{}={}: this executor does not see which rails the others of its host use: {}",
          settings.key("railFolder"),
          settings.railFolder(),
          e.toString());
      return rails.choices(hardware, ownAddress, null, Map.of());
    }
  }

  private List<DeviceChoice> choices(
      Path hardware,
      InetAddress ownAddress,
      @Nullable RailLocks locks,
      Map<String, Integer> executors) {
    List<DeviceChoice> choices = new ArrayList<>();
    for (HardwarePort port : ordered(executors)) {
      choices.add(new DeviceChoice(
          hardware,
          ownAddress,
          port.name(),
          true,
          reason(port, executors),
          new RailUse(locks, port.name(), positionOf(port))));
    }
    return choices;
  }

  private List<HardwarePort> ordered(Map<String, Integer> executors) {
    List<HardwarePort> ordered = new ArrayList<>(ports);
    Collections.shuffle(ordered);
    ordered.sort(Comparator.comparing((HardwarePort port) -> !isNear(port))
        .thenComparing(port -> executors.getOrDefault(port.name(), 0)));
    return ordered;
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
                + " of this host");
  }
}
