/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.ToLongBiFunction;

/**
 * The memory that this process may have according to its control groups, of version 2 or 1: the
 * limit of a container is not in /proc/meminfo. See the kernel's admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst.
 *
 * @param root the directory of proc and sys, which is / except in tests
 */
record Cgroup(Path root) {
  /** Where a version mounts its groups, and the files and the key that it has for memory. */
  private record Version(String mount, String limit, String used, String reclaimable) {}

  private static final Version ONE = new Version(
      "sys/fs/cgroup/memory",
      "memory.limit_in_bytes",
      "memory.usage_in_bytes",
      "total_inactive_file");
  private static final Version TWO =
      new Version("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file");

  /** Returns the least limit that binds; {@link Long#MAX_VALUE} if none does. */
  long limitBytes() {
    return least((group, version) -> bytes(group.resolve(version.limit())));
  }

  /** Returns how much can still be allocated, counting page cache that nobody uses as free. */
  long roomBytes() {
    return least((group, version) -> {
      long limit = bytes(group.resolve(version.limit()));
      long used = bytes(group.resolve(version.used()));
      return limit == Long.MAX_VALUE || used == Long.MAX_VALUE
          ? Long.MAX_VALUE
          : Math.max(0, limit - used + reclaimable(group, version.reclaimable()));
    });
  }

  private long least(ToLongBiFunction<Path, Version> measure) {
    long least = Long.MAX_VALUE;
    for (String line : Proc.text(root.resolve("proc/self/cgroup")).split("\n", -1)) {
      // number:controllers:path, and the controllers of version 2 are not named
      String[] fields = line.split(":", 3);
      if (fields.length == 3 && (fields[1].isEmpty() || fields[1].equals("memory"))) {
        Version version = fields[1].isEmpty() ? TWO : ONE;
        least = Math.min(least, leastUpwards(measure, version, fields[2]));
      }
    }
    return least;
  }

  /**
   * Takes the value of a group and of all groups around it: in a container the mount begins at a
   * group within the path.
   */
  private long leastUpwards(ToLongBiFunction<Path, Version> measure, Version version, String path) {
    Path top = root.resolve(version.mount());
    Path group = top.resolve(path.substring(1)).normalize();
    long least = Long.MAX_VALUE;
    while (group != null && group.startsWith(top)) {
      least = Math.min(least, measure.applyAsLong(group, version));
      group = group.getParent();
    }
    return least;
  }

  /** Returns a file's only number; "max" or a missing file means no limit. */
  private static long bytes(Path file) {
    String text = Proc.text(file);
    return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : Long.MAX_VALUE;
  }

  private static long reclaimable(Path group, String key) {
    try {
      for (String line : Files.readAllLines(group.resolve("memory.stat"))) {
        if (line.startsWith(key + " ")) {
          return Long.parseLong(line.substring(key.length() + 1).trim());
        }
      }
    } catch (IOException e) {
      return 0; // then there is less room than there might be
    }
    return 0;
  }
}
