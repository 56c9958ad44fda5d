/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line of {@link ClusterDoctor}.
 *
 * @param executors how many are waited for; 0 if that is not said
 * @param hosts those of which an executor is waited for; empty if that is not said
 * @param perExecutor whether each executor takes part, and not one for each host
 */
record DoctorOptions(
    int executors,
    List<String> hosts,
    int waitSeconds,
    boolean perExecutor,
    int atATime,
    double leastMbPerS,
    Path json) {
  private static final Map<String, String> DEFAULTS = Map.of(
      "--executors", "0",
      "--hosts", "",
      "--wait", "60",
      "--per", "host",
      "--at-a-time", "8",
      "--least-mb-per-s", "0",
      "--json", "cluster-doctor.json");

  /**
   * Reads the command line.
   *
   * @throws IllegalArgumentException that names an option, its value and what is accepted
   */
  static DoctorOptions parse(String[] args) {
    Map<String, String> given = new LinkedHashMap<>(DEFAULTS);
    for (int i = 0; i < args.length; i += 2) {
      if (!DEFAULTS.containsKey(args[i])) {
        throw new IllegalArgumentException("unknown option '" + args[i] + "': give "
            + String.join(", ", DEFAULTS.keySet().stream().sorted().toList())
            + ", each with a value, or --help");
      }
      if (i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + " needs a value");
      }
      given.put(args[i], args[i + 1]);
    }
    String per = value(given, "--per");
    if (!per.equals("host") && !per.equals("executor")) {
      throw new IllegalArgumentException("--per " + per + ": give host or executor");
    }
    String hosts = value(given, "--hosts");
    return new DoctorOptions(
        number(given, "--executors", 0, 100_000),
        hosts.isEmpty() ? List.of() : List.of(hosts.split(",")),
        number(given, "--wait", 1, 86_400),
        per.equals("executor"),
        number(given, "--at-a-time", 1, 1000),
        number(given, "--least-mb-per-s", 0, 1_000_000),
        writable(Path.of(value(given, "--json"))));
  }

  private static String value(Map<String, String> given, String option) {
    return given.getOrDefault(option, "");
  }

  private static int number(Map<String, String> given, String option, int least, int most) {
    String text = value(given, option);
    if (!text.matches("[0-9]{1,7}")
        || Integer.parseInt(text) < least
        || Integer.parseInt(text) > most) {
      throw new IllegalArgumentException(
          option + " " + text + ": give a whole number from " + least + " to " + most);
    }
    return Integer.parseInt(text);
  }

  private static Path writable(Path json) {
    Path folder = json.toAbsolutePath().getParent();
    boolean isGood = Files.exists(json)
        ? Files.isRegularFile(json) && Files.isWritable(json)
        : folder != null && Files.isWritable(folder);
    if (!isGood) {
      throw new IllegalArgumentException(
          "--json " + json + " is no file that this user may write; give another");
    }
    return json;
  }
}
