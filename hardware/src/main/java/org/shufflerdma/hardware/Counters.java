/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The counters of a port and of its device at one time: the kernel's ABI/stable/sysfs-class-infiniband.
 * Immutable.
 *
 * @param values by name; none where the kernel has none, as of the software device
 */
record Counters(SortedMap<String, Long> values) {
  static final String NAME = "counters";

  /** How often the kernel reads the others from the device: a setting. */
  private static final String SETTING = "lifespan";

  /**
   * @param root the directory of sys, which is / except in tests
   */
  static Counters read(Path root, String device, int port) {
    Path ofDevice = root.resolve("sys/class/infiniband").resolve(device);
    Path ofPort = ofDevice.resolve("ports/" + port);
    SortedMap<String, Long> values = new TreeMap<>();
    for (Path folder : List.of(
        ofPort.resolve("counters"),
        ofPort.resolve("hw_counters"),
        ofDevice.resolve("hw_counters"))) {
      for (String name : Proc.names(folder)) {
        String text = Proc.text(folder.resolve(name));
        if (!name.equals(SETTING) && text.matches("[0-9]{1,18}")) {
          values.put(name, Long.parseLong(text));
        }
      }
    }
    return new Counters(values);
  }

  /** Reports which counters have changed since; the others are zero or have stayed. */
  void tellSince(Counters before, Report report) {
    Map<String, Object> json = new LinkedHashMap<>();
    values.forEach((name, after) -> {
      long first = before.values.getOrDefault(name, 0L);
      if (first != 0 || after != 0) {
        json.put(name, Json.object("before", first, "after", after));
      }
    });
    String changed = values.entrySet().stream()
        .filter(entry -> entry.getValue() - before.values.getOrDefault(entry.getKey(), 0L) != 0)
        .map(entry -> entry.getKey() + " "
            + (entry.getValue() - before.values.getOrDefault(entry.getKey(), 0L)))
        .collect(Collectors.joining(", "));
    report.measurement(
        NAME,
        values.isEmpty()
            ? "not readable: the kernel has none of this device"
            : changed.isEmpty() ? "none of " + values.size() + " has changed" : changed,
        json);
  }
}
