/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What this side asks of each connection. Device and peer may have less to give.
 *
 * @param typeOfService byte of the packets' IP header; null leaves it to the host
 * @param ackTimeout before a packet is sent again: exponent of 4.096 us, 1 to 31; null chooses by
 *     the device
 * @param retryCount how often a packet without acknowledgement is sent again, 0 to 7
 * @param rnrRetryCount how often one that finds the other end not ready, 0 to 7; 7 is without end
 * @param maxRdAtomic READs in progress per connection
 * @param mtuBytes largest packet, a power of two; the same on all sides
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
          + " PFC tell them apart: the DSCP times four, so 104 for DSCP 26. On InfiniBand the"
          + " subnet manager takes it as the QoS class. `auto` leaves it to the host"
          + " (`default_roce_tos` of the kernel's rdma_cm, 0 unless set).");
  private static final Setting<@Nullable Integer> ACK_TIMEOUT = new Setting<>(
      "ackTimeout",
      ValueType.autoOr(ValueType.durationMs(1, 600_000)),
      "auto",
      "How long a packet may go without acknowledgement before it is sent again, rounded up to"
          + " the next 4.096 us * 2^n. `auto` is 1074 ms on RoCE (n = 18), or four times the ACK"
          + " delay that the device reports if that is longer; on InfiniBand it is what follows"
          + " from the packet life time that the subnet manager gives.");
  private static final Setting<Integer> RETRY_COUNT = new Setting<>(
      "retryCount",
      ValueType.integer(0, 7),
      "7",
      "How often a packet without acknowledgement is sent again before the connection breaks.");
  private static final Setting<Integer> RNR_RETRY_COUNT = new Setting<>(
      "rnrRetryCount",
      ValueType.integer(0, 7),
      "7",
      "How often a READ is sent again that the peer's device is not ready for (RNR NAK); 7 is"
          + " without end, within `fetchTimeout`.");
  private static final Setting<Integer> MAX_RD_ATOMIC = new Setting<>(
      "maxRdAtomic",
      ValueType.integer(1, 255),
      "16",
      "The most READs in progress on a connection. What is in force is the least of this, what"
          + " the reader's device can start and what the owner's can serve.");
  private static final Setting<@Nullable Integer> MTU = new Setting<>(
      "mtu",
      ValueType.autoOr(ValueType.integerOf(256, 512, 1024, 2048, 4096)),
      "auto",
      "The largest RDMA packet, for fabrics where not every hop carries what the ports report."
          + " `auto` is the path's MTU; a value only lowers it.");

  static final List<Setting<?>> ALL =
      List.of(TYPE_OF_SERVICE, ACK_TIMEOUT, RETRY_COUNT, RNR_RETRY_COUNT, MAX_RD_ATOMIC, MTU);

  /** What the defaults come from, for docs/configuration.md. */
  static final String DOCUMENTATION = """

      ## What a connection has

      The defaults are for RoCE and InfiniBand alike: what the device, the path and the peer report decides, and a setting
      lowers or replaces it. Each executor logs what is in force, as `ibv_query_qp` tells it, with its first connection to a
      peer and from one:

          First connection to a peer: MTU 4096, type of service 0, ACK timeout 1074 ms (18), 7 retries, 7 RNR retries, READs in progress: 16 of this side, 0 of the peer

      | attribute | comes from |
      |---|---|
      | MTU | rdma_cm takes the path's: on RoCE the largest that the interface's MTU has room for (1500 gives 1024, 4200 and more 4096), on InfiniBand the subnet manager's. `mtu` lowers it at both ends; all executors have one value, as both ends must agree |
      | ACK timeout | each end's own. On RoCE rdma_cm only guesses, from a packet life time that is fixed in the kernel: between rxe devices it came to 2147 ms (19) on Linux 6.1, of which eight tries outlast `peerLostTimeout`, and to 537 ms (17) on 6.12. With `auto` eight tries take 8.6 s there, and up to four times as long on other devices. Where it cannot be set (kernels before 5.1) the kernel's guess stays |
      | retries | of the side that connects, at both ends: its request carries them |
      | RNR retries | each side tells its own to the other, whose packets they are about. READs meet RNR NAKs only where the owner's device pages on demand |
      | READs in progress | the reader asks for what its device can start (`max_qp_init_rd_atom`), the owner grants what its device can serve (`max_qp_rd_atom`), both at most `maxRdAtomic`. More READs than that wait in the send queue |
      | type of service | of the side that connects; the owner answers with what came |
      | access | a peer may READ from the executor it connected to, and nothing else; it may do nothing to one that connected to it. The queue pair has no more from the start, and an executor that finds another value in force gives the connection up |
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

  /** Milliseconds of an ACK timeout as verbs have it. */
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
