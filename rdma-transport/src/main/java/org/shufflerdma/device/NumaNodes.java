/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The NUMA nodes of this host, and those to which this process is confined. */
final class NumaNodes {
  private static final Pattern NODE = Pattern.compile("node([0-9]+)");
  private static final Pattern ALLOWED =
      Pattern.compile("^Cpus_allowed_list:\\s*(\\S+)$", Pattern.MULTILINE);

  private NumaNodes() {}

  /** As {@link #confining(Path, Path)} for this process. */
  static Set<Integer> confining() {
    return confining(Path.of("/proc/self/status"), Path.of("/sys/devices/system/node"));
  }

  /**
   * Returns the nodes of the CPUs that a process may use, if other nodes have CPUs, too; empty if it may use CPUs of all
   * nodes, or if the kernel does not tell.
   *
   * @param status of the process, as proc(5) describes /proc/PID/status
   * @param nodes a folder for each node with its {@code cpulist}
   *     (Documentation/ABI/stable/sysfs-devices-node)
   */
  static Set<Integer> confining(Path status, Path nodes) {
    Set<Integer> usable = new TreeSet<>();
    boolean othersHaveCpus = false;
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(nodes, "node*")) {
      Matcher allowed = ALLOWED.matcher(Files.readString(status));
      if (!allowed.find()) {
        return Set.of();
      }
      BitSet own = cpus(allowed.group(1));
      for (Path folder : folders) {
        Matcher name = NODE.matcher(folder.getFileName().toString());
        if (name.matches()) {
          BitSet ofNode = cpus(Files.readString(folder.resolve("cpulist")).strip());
          if (ofNode.intersects(own)) {
            usable.add(Integer.valueOf(name.group(1)));
          } else {
            othersHaveCpus |= !ofNode.isEmpty();
          }
        }
      }
    } catch (IOException
        | DirectoryIteratorException
        | NumberFormatException
        | IndexOutOfBoundsException e) {
      return Set.of();
    }
    return othersHaveCpus ? usable : Set.of();
  }

  /** Such as 0-3,8; a node that has memory alone has none. */
  private static BitSet cpus(String list) {
    BitSet cpus = new BitSet();
    for (String range : list.split(",", -1)) {
      if (!range.isEmpty()) {
        int dash = range.indexOf('-');
        int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
        int last = dash < 0 ? first : Integer.parseInt(range.substring(dash + 1));
        cpus.set(first, last + 1);
      }
    }
    return cpus;
  }
}
