/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of bin/terasort. The directory is a Hadoop path, so that it may lie on a file system
 * that all hosts of a cluster see.
 */
record TeraSortOptions(
    long records,
    int maps,
    int reduces,
    List<ShuffleKind> shuffles,
    Orphans orphans,
    String device,
    String directory,
    @Nullable Path json) {

  static final int RECORD_BYTES = 100;

  static TeraSortOptions parse(String[] arguments) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < arguments.length; i += 2) {
      if (i + 1 == arguments.length) {
        throw new IllegalArgumentException(arguments[i] + " needs a value");
      }
      values.put(arguments[i], arguments[i + 1]);
    }
    String json = values.remove("--json");
    String orphaned = values.remove("--orphaned");
    TeraSortOptions options = new TeraSortOptions(
        Long.parseLong(take(values, "--records")),
        Integer.parseInt(take(values, "--maps")),
        Integer.parseInt(take(values, "--reduces")),
        ShuffleKind.parse(take(values, "--shuffle")),
        orphaned == null ? Orphans.NONE : Orphans.parse(orphaned),
        take(values, "--device"),
        take(values, "--dir"),
        json == null ? null : Path.of(json));
    if (!values.isEmpty()) {
      throw new IllegalArgumentException("unknown options " + values.keySet());
    }
    return options;
  }

  private static String take(Map<String, String> values, String name) {
    String value = values.remove(name);
    if (value == null) {
      throw new IllegalArgumentException(name + " is missing");
    }
    return value;
  }

  long bytes() {
    return Math.multiplyExact(records, (long) RECORD_BYTES);
  }
}
