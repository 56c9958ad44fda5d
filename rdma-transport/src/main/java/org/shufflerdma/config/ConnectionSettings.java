/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The attributes that this side requests for each connection. The device and the peer may grant
 * less.
 *
 * @param typeOfService the byte in the IP header of each packet; null leaves it to the host
 * @param ackTimeout the wait before a packet is sent again, as exponent n of 4.096 us * 2^n, 1 to
 *     31; null chooses by the device
 * @param retryCount how often a packet without acknowledgement is sent again, 0 to 7
 * @param rnrRetryCount how often a packet is sent again that finds the other end not ready, 0 to 7;
 *     7 is without end
 * @param maxRdAtomic the most READs in progress per connection
 * @param mtuBytes the largest packet, a power of two, equal at both ends
 */
public record ConnectionSettings(
    @Nullable Integer typeOfService,
    @Nullable Integer ackTimeout,
    int retryCount,
    int rnrRetryCount,
    int maxRdAtomic,
    int mtuBytes) {
  private static final int LARGEST_MTU_BYTES = 4096;
  private static final double ACK_TIMEOUT_UNIT_MS = 0.004096;

  private static final Setting<@Nullable Integer> TYPE_OF_SERVICE = new Setting<>(
      "typeOfService",
      ValueType.autoOr(ValueType.integer(0, 255)),
      "auto",
      "The type of service (IPv4) or traffic class (IPv6) of RoCE packets, by which switches and"
          + " PFC tell them apart. It is the DSCP times four, for example 104 for DSCP 26. On"
          + " InfiniBand the subnet manager takes it as the QoS class. `auto` leaves it to the"
          + " host (`default_roce_tos` of the kernel's rdma_cm, 0 unless set).");
  private static final Setting<@Nullable Integer> ACK_TIMEOUT = new Setting<>(
      "ackTimeout",
      ValueType.autoOr(ValueType.durationMs(1, 600_000)),
      "auto",
      "How long the device waits for the acknowledgement of a packet before it sends the packet"
          + " again, rounded up to the next 4.096 us * 2^n. `auto` is 1074 ms on RoCE (n = 18), or"
          + " four times the ACK delay that the device reports if that is longer. On InfiniBand"
          + " `auto` follows from the packet life time that the subnet manager gives.");
  private static final Setting<Integer> RETRY_COUNT = new Setting<>(
      "retryCount",
      ValueType.integer(0, 7),
      "7",
      "How often the device sends a packet again that is not acknowledged, before the connection"
          + " breaks.");
  private static final Setting<Integer> RNR_RETRY_COUNT = new Setting<>(
      "rnrRetryCount",
      ValueType.integer(0, 7),
      "7",
      "How often the device sends a READ again after the peer's device answered that it is not"
          + " ready (RNR NAK). 7 means without end, within `fetchTimeout`.");
  private static final Setting<Integer> MAX_RD_ATOMIC = new Setting<>(
      "maxRdAtomic",
      ValueType.integer(1, 255),
      "16",
      "The most READs in progress on a connection. The effective number is the least of this"
          + " setting, what the reader's device can start and what the owner's device can serve.");
  private static final Setting<@Nullable Integer> MTU = new Setting<>(
      "mtu",
      ValueType.autoOr(ValueType.integerOf(256, 512, 1024, 2048, 4096)),
      "auto",
      "The largest RDMA packet in bytes, for fabrics in which some hop carries less than the ports"
          + " report. `auto` takes the MTU of the path; a value can only lower it.");

  static final List<Setting<?>> ALL =
      List.of(TYPE_OF_SERVICE, ACK_TIMEOUT, RETRY_COUNT, RNR_RETRY_COUNT, MAX_RD_ATOMIC, MTU);

  /** The section of docs/configuration.md about the attributes of a connection. */
  static final String DOCUMENTATION = """

      ## Attributes of a connection

      The defaults suit RoCE and InfiniBand alike: the values follow from what the device, the path and the peer report, and a
      setting lowers or replaces them. With its first connection to a peer and its first from one, each executor logs the
      values in force, as `ibv_query_qp` reports them:

          First connection to a peer: MTU 4096, type of service 0, ACK timeout 1074 ms (18), 7 retries, 7 RNR retries, READs in progress: 16 of this side, 0 of the peer

      | attribute | comes from |
      |---|---|
      | MTU | rdma_cm takes the path's. On RoCE that is the largest that fits the interface's MTU (1500 gives 1024; 4200 and more give 4096), on InfiniBand the subnet manager's. `mtu` lowers it. Both ends must agree, so all executors must have the same value |
      | ACK timeout | Each end has its own. On RoCE rdma_cm derives one from a packet life time that is fixed in the kernel: between rxe devices it is 2147 ms (19) on Linux 6.1, so that eight tries take longer than `peerLostTimeout`, and 537 ms (17) on 6.12. With `auto`, eight tries take 8.6 s between rxe devices, and up to four times as long on other devices. Where the timeout cannot be set (kernels before 5.1) the kernel's value stays |
      | retries | The connecting side decides for both ends; its request carries the number |
      | RNR retries | Each side tells its peer how often the peer is to send a request again that found this side not ready. READs meet RNR NAKs only where the owner's device pages on demand |
      | READs in progress | The reader asks for what its device can start (`max_qp_init_rd_atom`), and the owner grants what its device can serve (`max_qp_rd_atom`), both at most `maxRdAtomic`. Further READs wait in the send queue |
      | type of service | The connecting side decides; the owner answers with the type of service that the request came with |
      | access | A peer that connected to an executor may READ from it, and nothing else. A peer to which an executor connected has no access to that executor. These rights hold before the connection is established, and an executor that finds others in force gives the connection up |
      """;

  public static final ConnectionSettings DEFAULTS = from(Map.of());

  static ConnectionSettings from(Map<String, String> conf) {
    Integer ackTimeoutMs = ACK_TIMEOUT.read(conf);
    Integer mtuBytes = MTU.read(conf);
    return new ConnectionSettings(
        TYPE_OF_SERVICE.read(conf),
        ackTimeoutMs == null ? null : ackTimeoutOfMs(ackTimeoutMs),
        RETRY_COUNT.read(conf),
        RNR_RETRY_COUNT.read(conf),
        MAX_RD_ATOMIC.read(conf),
        mtuBytes == null ? LARGEST_MTU_BYTES : mtuBytes);
  }

  /** Converts an ACK timeout from the exponent that verbs use to milliseconds. */
  public static double ackTimeoutMs(int exponent) {
    return ACK_TIMEOUT_UNIT_MS * (1L << exponent);
  }

  private static int ackTimeoutOfMs(int ms) {
    int exponent = 1;
    while (ackTimeoutMs(exponent) < ms) {
      exponent++;
    }
    return exponent;
  }
}
