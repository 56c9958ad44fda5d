/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the examination of an executor's host found.
 *
 * @param device such as {@code mlx5_0:1}, or the name of the software device; null if no device can be used
 * @param address of the device
 * @param netInterface that has the address; empty if none has
 * @param mtuBytes of that interface; 0 if it is not known
 * @param facts by name, as the report of {@link VerifyHardware} has them
 * @param counters of the port at the end of the examination, by name
 * @param offer what other hosts read; null if a fault forbids it
 */
public record HostExam(
    @Nullable String device,
    String address,
    String netInterface,
    int mtuBytes,
    LinkedHashMap<String, String> facts,
    ArrayList<Fault> faults,
    TreeMap<String, Long> counters,
    @Nullable PairOffer offer)
    implements Serializable {
  /** The examination of a host where there is no device to read from. */
  static HostExam withoutDevice(Map<String, String> facts, List<Fault> faults) {
    return new HostExam(
        null,
        "",
        "",
        0,
        new LinkedHashMap<>(facts),
        new ArrayList<>(faults),
        new TreeMap<>(),
        null);
  }

  /** Whether others can try to read from it, and it from others. */
  public boolean canBeRead() {
    return offer != null;
  }

  String fact(String name) {
    return facts.getOrDefault(name, "unknown");
  }
}
