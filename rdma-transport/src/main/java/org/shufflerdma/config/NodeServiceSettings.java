/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The settings of a node service, of which docs/node-service.md says what each means.
 *
 * @param port of TCP, at which readers ask for the endpoint of their application
 * @param socket of unix, at which executors register
 * @param grants folder of what the service knows of applications
 * @param statusPort of the page with health and metrics; 0 for none
 * @param host name or address of this host; empty for its own name
 * @param maxRegisteredBytes registered for readers of all applications together
 * @param yarnLocalDirs of NodeManagers, in which jobs of MapReduce keep their outputs; empty to serve no jobs
 * @param sharedMemory folder of a memory file system, for what is read for reducers
 */
public record NodeServiceSettings(
    int port,
    Path socket,
    Path grants,
    int statusPort,
    String host,
    long maxRegisteredBytes,
    List<Path> yarnLocalDirs,
    Path sharedMemory) {
  /** What the keys of these settings begin with. */
  public static final String PREFIX = "service.";

  private static final Pattern ABSOLUTE = Pattern.compile("/.*");
  private static final Pattern ABSOLUTE_LIST = Pattern.compile("|/[^,]*(,/[^,]*)*");

  /**
   * Reads and checks the settings.
   *
   * @param conf keys without {@link #PREFIX} are ignored
   */
  public static NodeServiceSettings from(Map<String, String> conf) {
    SettingReader reader = new SettingReader(conf, PREFIX);
    NodeServiceSettings settings = read(reader);
    reader.refuseUnknown();
    return settings;
  }

  private static List<Path> paths(String text) {
    return text.isEmpty()
        ? List.of()
        : Arrays.stream(text.split(",", -1)).map(Path::of).toList();
  }

  static NodeServiceSettings read(SettingReader reader) {
    return new NodeServiceSettings(
        reader.read("port", ValueType.integer(1, 65535), "7347"),
        Path.of(reader.read(
            "socket",
            ValueType.text("path", "an absolute path", ABSOLUTE),
            "/run/shuffle-rdma/node-service.sock")),
        Path.of(reader.read(
            "grants",
            ValueType.text("path", "an absolute directory", ABSOLUTE),
            "/var/lib/shuffle-rdma/grants")),
        reader.read("statusPort", ValueType.integer(0, 65535), "7348"),
        reader.read(
            "host",
            ValueType.text(
                "text", "a host name or address, or empty", Pattern.compile("[0-9A-Za-z.:%_-]*")),
            ""),
        reader.read("maxRegisteredBytes", ValueType.bytes("1m", "64t"), "1g"),
        paths(reader.read(
            "yarnLocalDirs",
            ValueType.text(
                "paths", "absolute directories with commas between them, or empty", ABSOLUTE_LIST),
            "")),
        Path.of(reader.read(
            "sharedMemory",
            ValueType.text("path", "an absolute directory", ABSOLUTE),
            "/dev/shm/shuffle-rdma")));
  }
}
