/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The command line of {@link VerifyHardware}.
 *
 * @param directory the directory in which the file to be registered is made
 * @param sizeBytes the size of that file
 * @param report the file to which the report goes
 * @param servedPort the port at which another host may read from this one; 0 for none
 * @param peer the other host that serves, if one does
 * @param settings the plugin's settings, by key
 */
record Options(
    Path directory,
    long sizeBytes,
    Path report,
    int servedPort,
    @Nullable InetSocketAddress peer,
    Map<String, String> settings) {
  /** The plugin's prefix of the keys of its settings. */
  static final String PREFIX = "spark.shuffle.rdma.";

  static final List<String> NAMES =
      List.of("--device", "--dir", "--size", "--report", "--conf", "--serve", "--peer");
  private static final long MEBIBYTE = 1 << 20;
  private static final Pattern SIZE = Pattern.compile("([1-9][0-9]{0,6})([mg])");

  static Options parse(String[] args) throws RefusedException {
    Map<String, String> given = new TreeMap<>();
    Map<String, String> settings = new TreeMap<>();
    for (int i = 0; i < args.length; i += 2) {
      String option = args[i];
      if (!NAMES.contains(option)) {
        throw new RefusedException("unknown option '" + option + "': give "
            + String.join(", ", NAMES) + ", each with a value, or --help");
      }
      if (i + 1 == args.length) {
        throw new RefusedException(option + " needs a value");
      }
      String value = args[i + 1];
      switch (option) {
        case "--conf" -> {
          int equals = value.indexOf('=');
          if (equals < 1) {
            throw new RefusedException("--conf " + value + ": give KEY=VALUE");
          }
          settings.put(value.substring(0, equals), value.substring(equals + 1));
        }
        case "--device" -> settings.put(PREFIX + "device", value);
        default -> given.put(option, value);
      }
    }
    if (given.containsKey("--serve") && given.containsKey("--peer")) {
      throw new RefusedException(
          "--serve and --peer: give --serve on one host and --peer on the other");
    }
    return new Options(
        Path.of(given.getOrDefault("--dir", firstLocalDirectory())),
        size(given.getOrDefault("--size", "1g")),
        Path.of(given.getOrDefault("--report", "verify-hardware.txt")),
        given.containsKey("--serve") ? port("--serve", given.get("--serve")) : 0,
        given.containsKey("--peer") ? peer(given.get("--peer")) : null,
        settings);
  }

  /** Whether the usage is asked for, and nothing else. */
  static boolean isHelp(String[] args) {
    return List.of(args).contains("--help") || List.of(args).contains("-h");
  }

  private static String firstLocalDirectory() {
    String directories = System.getenv("SPARK_LOCAL_DIRS");
    return directories == null || directories.isEmpty() ? "/tmp" : directories.split(",", 2)[0];
  }

  /** The next port is used, too. */
  private static int port(String option, String text) throws RefusedException {
    if (!text.matches("[1-9][0-9]{0,4}") || Integer.parseInt(text) > 65534) {
      throw new RefusedException(option + " " + text + ": give a port from 1 to 65534");
    }
    return Integer.parseInt(text);
  }

  private static InetSocketAddress peer(String text) throws RefusedException {
    int colon = text.lastIndexOf(':');
    if (colon < 1) {
      throw new RefusedException("--peer " + text + ": give HOST:PORT, as the other host names it");
    }
    InetSocketAddress peer =
        new InetSocketAddress(text.substring(0, colon), port("--peer", text.substring(colon + 1)));
    if (peer.isUnresolved()) {
      throw new RefusedException("--peer " + text + ": this host name has no address");
    }
    return peer;
  }

  private static long size(String text) throws RefusedException {
    Matcher matcher = SIZE.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new RefusedException(
          "--size " + text + ": give a whole number with m or g, such as 1g");
    }
    long unit = matcher.group(2).equals("g") ? MEBIBYTE << 10 : MEBIBYTE;
    return Long.parseLong(matcher.group(1)) * unit;
  }
}
