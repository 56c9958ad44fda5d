/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The values of all settings, read and checked once. Every key under the prefix must be known: a
 * misspelt one is refused rather than ignored.
 *
 * @param maxRegisteredBytes null derives it from the limits of the executor
 * @param poolBytes null derives it from what Spark's tasks fetch at a time
 */
public record RdmaSettings(
    boolean enabled,
    boolean required,
    boolean allowUnencrypted,
    String device,
    AddressChoice address,
    ConnectionSettings connection,
    String nativeDir,
    ChecksumMode checksum,
    @Nullable Long maxRegisteredBytes,
    @Nullable Long poolBytes,
    boolean hugePages,
    boolean relaxedOrdering,
    int sendQueueDepth,
    int maxConnections,
    int connectTimeoutMs,
    int fetchTimeoutMs,
    int peerLostTimeoutMs,
    int withdrawGraceMs) {

  public static final String PREFIX = Setting.PREFIX;

  private static final Setting<Boolean> ENABLED = new Setting<>(
      "enabled",
      ValueType.bool(),
      "true",
      "Whether Spark reads shuffle blocks by RDMA. With `false` the shuffle manager behaves like"
          + " Spark's own.");
  private static final Setting<Boolean> REQUIRED = new Setting<>(
      "required",
      ValueType.bool(),
      "false",
      "With `true`, tasks fail on an executor where RDMA cannot be started, instead of using TCP."
          + " It is meant for tests and benchmarks.");
  private static final Setting<Boolean> ALLOW_UNENCRYPTED = new Setting<>(
      "allowUnencrypted",
      ValueType.bool(),
      "false",
      "RDMA traffic is not encrypted. If Spark encrypts its network traffic"
          + " (`spark.network.crypto.enabled`, `spark.ssl.rpc.enabled`,"
          + " `spark.authenticate.enableSaslEncryption`) but not its shuffle files"
          + " (`spark.io.encryption.enabled`), RDMA is off unless this is `true`.");
  private static final Setting<String> DEVICE = new Setting<>(
      "device",
      ValueType.text(
          "text",
          "auto, soft, none, or a device name with an optional port (mlx5_0:1)",
          Pattern.compile("[A-Za-z][A-Za-z0-9_.-]*(:[1-9][0-9]{0,2})?")),
      "auto",
      "The RDMA device. `auto` takes an active hardware device that passes a loopback READ of a"
          + " file, or else the software device. `soft` takes the software device. `none` leaves"
          + " every block to TCP.");
  private static final Setting<AddressChoice> ADDRESS = new Setting<>(
      "address",
      new ValueType<>(
          "interface, IP address or CIDR",
          "such as ib0, 192.168.7.12, 192.168.7.0/24 or fd00::/8; empty: the executor's own"
              + " address",
          AddressChoice::of),
      "",
      "The local address that peers connect to, for hosts with several. The value is the"
          + " interface that has the address, a network that contains it, or the address itself."
          + " Peers connect to it instead of Spark's host address, and this executor's own"
          + " connections start from it.");
  private static final Setting<String> NATIVE_DIR = new Setting<>(
      "nativeDir",
      ValueType.text("path", "an absolute directory, or empty", Pattern.compile("|/.*")),
      "",
      "The directory to which the native libraries are extracted. Empty means `java.io.tmpdir`."
          + " Set it where that is mounted noexec.");
  private static final Setting<ChecksumMode> CHECKSUM = new Setting<>(
      "checksum",
      ValueType.oneOf(ChecksumMode.class),
      "auto",
      "How each block is verified before it is delivered. `auto` uses Spark's own checksums where"
          + " they cover the bytes of the file and computes CRC32C elsewhere. `own` always"
          + " computes CRC32C. `off` delivers blocks unverified.");
  private static final Setting<@Nullable Long> MAX_REGISTERED_BYTES = new Setting<>(
      "maxRegisteredBytes",
      ValueType.autoOr(ValueType.bytes("1m", "64t")),
      "auto",
      "The most bytes that an executor keeps registered and, on most hardware, pinned: map"
          + " outputs, their descriptors and fetch buffers. When map outputs fill their part, the"
          + " outputs of the shuffles that have been unused for longest are withdrawn, and TCP"
          + " serves their late readers. `auto` derives the value from the limits of the executor"
          + " ([memory](memory.md)).");
  private static final Setting<@Nullable Long> POOL_BYTES = new Setting<>(
      "poolBytes",
      ValueType.autoOr(ValueType.bytes("16m", "1t")),
      "auto",
      "The most bytes of registered fetch buffers that an executor allocates. They lie outside the"
          + " heap, are allocated when needed, and are at most half of `maxRegisteredBytes`. A"
          + " block that finds no free buffer within a second is fetched by TCP. `auto` derives"
          + " the value from what Spark's tasks fetch at a time ([memory](memory.md)).");
  private static final Setting<Boolean> HUGE_PAGES = new Setting<>(
      "hugePages",
      ValueType.bool(),
      "true",
      "Whether fetch buffers lie in huge pages: those of the kernel's pool (`vm.nr_hugepages`)"
          + " while it has some, or else transparent ones.");
  private static final Setting<Boolean> RELAXED_ORDERING = new Setting<>(
      "relaxedOrdering",
      ValueType.bool(),
      "true",
      "Whether the device may write the bytes of a READ to the fetch buffer in any order on PCI"
          + " Express (IBV_ACCESS_RELAXED_ORDERING). This is safe because a block is delivered"
          + " only after the completion, which comes after all of its bytes. Devices and kernels"
          + " that lack the feature ignore the setting. Map outputs, which the device only reads,"
          + " are never registered with it.");
  private static final Setting<Integer> SEND_QUEUE_DEPTH = new Setting<>(
      "sendQueueDepth",
      ValueType.integer(16, 16384),
      "256",
      "The most READs that are posted to one peer at a time.");
  private static final Setting<Integer> MAX_CONNECTIONS = new Setting<>(
      "maxConnections",
      ValueType.integer(1, 65536),
      "1024",
      "The most peers that an executor is connected to at a time, as far as its device has queue"
          + " pairs and completion queue entries for them. A fetch from one more peer waits, within"
          + " `fetchTimeout`, until a connection that has been idle for a second gives up its"
          + " place. If that does not happen in time, the blocks of this fetch come by TCP.");
  private static final Setting<Integer> CONNECT_TIMEOUT = new Setting<>(
      "connectTimeout",
      ValueType.durationMs(100, 600_000),
      "5s",
      "The time limit for a connection to a peer, from address resolution to the READ of the"
          + " peer's canary.");
  private static final Setting<Integer> FETCH_TIMEOUT = new Setting<>(
      "fetchTimeout",
      ValueType.durationMs(1000, 3_600_000),
      "30s",
      "If READs from a peer are under way and none of them completes for this long, the peer's"
          + " blocks are fetched by TCP.");
  private static final Setting<Integer> PEER_LOST_TIMEOUT = new Setting<>(
      "peerLostTimeout",
      ValueType.durationMs(1000, 3_600_000),
      "10s",
      "If a peer has answered neither RDMA nor TCP for this long since its last byte, it counts as"
          + " lost, and Spark recomputes its map outputs.");
  private static final Setting<Integer> WITHDRAW_GRACE = new Setting<>(
      "withdrawGrace",
      ValueType.durationMs(0, 600_000),
      "2s",
      "How long an output stays registered after it was withdrawn (because its shuffle was"
          + " removed, or because others need the room), so that READs already under way can"
          + " complete. Readers rely on a descriptor for half of this time, but for at least 10"
          + " ms.");

  static final List<Setting<?>> ALL = Stream.of(
          List.of(ENABLED, REQUIRED, ALLOW_UNENCRYPTED, DEVICE, ADDRESS),
          ConnectionSettings.ALL,
          List.of(
              NATIVE_DIR,
              CHECKSUM,
              MAX_REGISTERED_BYTES,
              POOL_BYTES,
              HUGE_PAGES,
              RELAXED_ORDERING,
              SEND_QUEUE_DEPTH,
              MAX_CONNECTIONS,
              CONNECT_TIMEOUT,
              FETCH_TIMEOUT,
              PEER_LOST_TIMEOUT,
              WITHDRAW_GRACE))
      .<Setting<?>>flatMap(List::stream)
      .toList();

  /**
   * Reads and checks the settings.
   *
   * @param conf Spark's configuration; keys without the prefix are ignored
   */
  public static RdmaSettings from(Map<String, String> conf) {
    KnownKeys.refuseUnknown(new TreeMap<>(conf).keySet());
    return new RdmaSettings(
        ENABLED.read(conf),
        REQUIRED.read(conf),
        ALLOW_UNENCRYPTED.read(conf),
        DEVICE.read(conf),
        ADDRESS.read(conf),
        ConnectionSettings.from(conf),
        NATIVE_DIR.read(conf),
        CHECKSUM.read(conf),
        MAX_REGISTERED_BYTES.read(conf),
        POOL_BYTES.read(conf),
        HUGE_PAGES.read(conf),
        RELAXED_ORDERING.read(conf),
        SEND_QUEUE_DEPTH.read(conf),
        MAX_CONNECTIONS.read(conf),
        CONNECT_TIMEOUT.read(conf),
        FETCH_TIMEOUT.read(conf),
        PEER_LOST_TIMEOUT.read(conf),
        WITHDRAW_GRACE.read(conf));
  }

  /**
   * Returns a sentence for each setting of SparkRDMA in {@code conf}: it has no effect here, and
   * what to use instead.
   */
  public static List<String> migrationNotes(Map<String, String> conf) {
    return KnownKeys.migrationNotes(new TreeMap<>(conf).keySet());
  }

  /** Returns the text of docs/configuration.md. */
  public static String documentation() {
    StringBuilder text = new StringBuilder();
    text.append("# Settings\n\n")
        .append("<!-- Generated from RdmaSettings; `UPDATE=1 mvn test -pl rdma-transport")
        .append(" -Dtest=RdmaSettingsTest` rewrites it. -->\n\n")
        .append("All settings are Spark settings (`--conf`, `spark-defaults.conf`) with the prefix")
        .append(" `")
        .append(PREFIX)
        .append("`.\n")
        .append("The plugin refuses an application at its start if a value is not accepted or a")
        .append(" key under the prefix is unknown.\n\n")
        .append("| setting | default | type and unit | accepted | meaning |\n")
        .append("|---|---|---|---|---|\n");
    for (Setting<?> setting : ALL) {
      text.append("| `")
          .append(setting.key())
          .append("` | ")
          .append(setting.defaultText().isEmpty() ? "(empty)" : "`" + setting.defaultText() + "`")
          .append(" | ")
          .append(setting.type().name())
          .append(" | ")
          .append(setting.type().range())
          .append(" | ")
          .append(setting.doc())
          .append(" |\n");
    }
    text.append(ConnectionSettings.DOCUMENTATION);
    text.append("\n## Settings of SparkRDMA\n\n")
        .append("SparkRDMA, an older project, uses the same prefix. Its settings are accepted with")
        .append(" a warning and have no effect:\n\n")
        .append("| setting | instead |\n|---|---|\n");
    KnownKeys.SPARK_RDMA.forEach((name, instead) -> text.append("| `")
        .append(PREFIX)
        .append(name)
        .append("` | ")
        .append(instead)
        .append(" |\n"));
    return text.toString();
  }
}
