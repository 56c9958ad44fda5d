/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The values of all settings, read and checked once. docs/configuration.md says what each setting means.
 *
 * @param keyPrefix what all keys begin with
 * @param device {@code auto}, {@code soft}, {@code none}, or names of devices, as {@link #rails} has them
 * @param maxRegisteredBytes null derives it from the limits of the executor
 * @param poolBytes null derives it from what Spark's tasks fetch at a time
 * @param stagingBytes null derives it from {@code maxRegisteredBytes}
 * @param nodeServicePort 0 if no node service is to be used
 */
public record RdmaSettings(
    String keyPrefix,
    boolean enabled,
    boolean required,
    boolean allowUnencrypted,
    String device,
    String railFolder,
    AddressChoice address,
    ConnectionSettings connection,
    String nativeDir,
    ChecksumMode checksum,
    ReaderMode reader,
    SorterMode sorter,
    WriterMode writer,
    @Nullable Long maxRegisteredBytes,
    @Nullable Long poolBytes,
    int poolIdleTimeoutMs,
    @Nullable Long stagingBytes,
    boolean onDemand,
    boolean hugePages,
    boolean relaxedOrdering,
    int sendQueueDepth,
    int maxConnections,
    int connectTimeoutMs,
    int fetchTimeoutMs,
    int peerLostTimeoutMs,
    int withdrawGraceMs,
    int nodeServicePort,
    String nodeServiceSocket) {

  private static final String NAMED_DEVICE =
      "(?!(?:auto|soft|none)(?:[:,]|$))[A-Za-z][A-Za-z0-9_.-]*(?::[1-9][0-9]{0,2})?";

  private static final Pattern DEVICE =
      Pattern.compile("auto|soft|none|" + NAMED_DEVICE + "(?:," + NAMED_DEVICE + ")*");

  /**
   * Reads and checks the settings, and refuses unknown keys.
   *
   * @param conf keys without {@code keyPrefix} are ignored
   */
  public static RdmaSettings from(Map<String, String> conf, String keyPrefix) {
    SettingReader reader = new SettingReader(conf, keyPrefix);
    RdmaSettings settings = read(reader);
    reader.refuseUnknown();
    return settings;
  }

  /**
   * Reads and checks the settings as one of many applications with shared defaults, some of which may be
   * meant for another version: unknown keys are refused only if RDMA is required.
   *
   * @param conf keys without {@code keyPrefix} are ignored
   * @param unknown is given a sentence on each unknown key
   */
  public static RdmaSettings from(
      Map<String, String> conf, String keyPrefix, Consumer<String> unknown) {
    SettingReader reader = new SettingReader(conf, keyPrefix);
    RdmaSettings settings = read(reader);
    if (settings.required()) {
      reader.refuseUnknown();
    }
    reader.unknown().forEach(unknown);
    return settings;
  }

  private static String device(String text) {
    if (!DEVICE.matcher(text).matches()) {
      throw new IllegalArgumentException("not of the expected form");
    }
    List<String> names = List.of(text.split(","));
    for (String name : names) {
      String withoutPort = name.replaceFirst(":.*", "");
      if (names.stream().filter(name::equals).count() > 1
          || (!withoutPort.equals(name) && names.contains(withoutPort))) {
        throw new IllegalArgumentException(name + " is named twice");
      }
    }
    return text;
  }

  static RdmaSettings read(SettingReader reader) {
    return new RdmaSettings(
        reader.prefix(),
        reader.read("enabled", ValueType.bool(), "true"),
        reader.read("required", ValueType.bool(), "false"),
        reader.read("allowUnencrypted", ValueType.bool(), "false"),
        reader.read(
            "device",
            new ValueType<>(
                "text",
                "auto, soft, none, or a device name with an optional port (mlx5_0:1), or several such"
                    + " names separated by commas",
                RdmaSettings::device),
            "auto"),
        reader.read(
            "railFolder",
            ValueType.text("path", "an absolute path", Pattern.compile("/.*")),
            "/dev/shm/shuffle-rdma-rails-{uid}"),
        reader.read(
            "address",
            new ValueType<>(
                "interface, IP address or CIDR",
                "such as ib0, 192.168.7.12, 192.168.7.0/24 or fd00::/8; empty: the executor's own"
                    + " address",
                AddressChoice::of),
            ""),
        ConnectionSettings.read(reader),
        reader.read(
            "nativeDir",
            ValueType.text("path", "an absolute directory, or empty", Pattern.compile("|/.*")),
            ""),
        reader.read("checksum", ValueType.oneOf(ChecksumMode.class), "auto"),
        reader.read("reader", ValueType.oneOf(ReaderMode.class), "direct"),
        reader.read("sorter", ValueType.oneOf(SorterMode.class), "auto"),
        reader.read("writer", ValueType.oneOf(WriterMode.class), "auto"),
        reader.read("maxRegisteredBytes", ValueType.autoOr(ValueType.bytes("1m", "64t")), "auto"),
        reader.read("poolBytes", ValueType.autoOr(ValueType.bytes("16m", "1t")), "auto"),
        reader.read("poolIdleTimeout", ValueType.durationMs(1000, 3_600_000), "60s"),
        reader.read("stagingBytes", ValueType.autoOr(ValueType.bytes("0", "1t")), "auto"),
        reader.read("onDemand", ValueType.bool(), "false"),
        reader.read("hugePages", ValueType.bool(), "true"),
        reader.read("relaxedOrdering", ValueType.bool(), "true"),
        reader.read("sendQueueDepth", ValueType.integer(16, 16384), "256"),
        reader.read("maxConnections", ValueType.integer(1, 65536), "1024"),
        reader.read("connectTimeout", ValueType.durationMs(100, 600_000), "5s"),
        reader.read("fetchTimeout", ValueType.durationMs(1000, 3_600_000), "30s"),
        reader.read("peerLostTimeout", ValueType.durationMs(1000, 3_600_000), "10s"),
        reader.read("withdrawGrace", ValueType.durationMs(0, 600_000), "2s"),
        reader.read("nodeServicePort", ValueType.integer(0, 65535), "7347"),
        reader.read(
            "nodeServiceSocket",
            ValueType.text("path", "an absolute path", Pattern.compile("/.*")),
            "/run/shuffle-rdma/node-service.sock"));
  }

  /**
   * Returns the devices, each with an optional port, among which an executor chooses one; empty if the setting does not
   * name several.
   */
  public List<String> rails() {
    List<String> names = List.of(device.split(","));
    return names.size() > 1 ? names : List.of();
  }

  /** Returns the key of the setting {@code name} as the user writes it, for messages. */
  public String key(String name) {
    return keyPrefix + name;
  }
}
