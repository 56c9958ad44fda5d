/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** Where and on what runs were made, as each line of a file of results says. */
final class Machine {
  private static final Set<String> SHOWN = Set.of("model name", "MemTotal");

  private Machine() {}

  static Map<String, Object> describe(String commit) throws IOException {
    Map<String, Object> machine = new LinkedHashMap<>();
    machine.put("commit", commit);
    machine.put("cores", Runtime.getRuntime().availableProcessors());
    for (String file : new String[] {"/proc/cpuinfo", "/proc/meminfo"}) {
      for (String line : Files.readAllLines(Path.of(file))) {
        String[] field = line.split(":", 2);
        if (SHOWN.contains(field[0].strip())) {
          machine.put(field[0].strip(), field[1].strip());
        }
      }
    }
    machine.put("kernel", System.getProperty("os.version"));
    machine.put("java", System.getProperty("java.vm.version"));
    machine.put("spark", org.apache.spark.package$.MODULE$.SPARK_VERSION());
    return machine;
  }
}
