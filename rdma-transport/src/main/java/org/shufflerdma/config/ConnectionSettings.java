/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import org.jspecify.annotations.Nullable;

/**
 * The attributes that this side requests for each connection. The device and the peer may grant
 * less.
 *
 * @param keyPrefix what the keys of all settings begin with, for messages
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
    String keyPrefix,
    @Nullable Integer typeOfService,
    @Nullable Integer ackTimeout,
    int retryCount,
    int rnrRetryCount,
    int maxRdAtomic,
    int mtuBytes) {
  private static final int LARGEST_MTU_BYTES = 4096;
  private static final double ACK_TIMEOUT_UNIT_MS = 0.004096;

  static ConnectionSettings read(SettingReader reader) {
    Integer typeOfService =
        reader.read("typeOfService", ValueType.autoOr(ValueType.integer(0, 255)), "auto");
    Integer ackTimeoutMs =
        reader.read("ackTimeout", ValueType.autoOr(ValueType.durationMs(1, 600_000)), "auto");
    int retryCount = reader.read("retryCount", ValueType.integer(0, 7), "7");
    int rnrRetryCount = reader.read("rnrRetryCount", ValueType.integer(0, 7), "7");
    int maxRdAtomic = reader.read("maxRdAtomic", ValueType.integer(1, 255), "16");
    Integer mtuBytes = reader.read(
        "mtu", ValueType.autoOr(ValueType.integerOf(256, 512, 1024, 2048, 4096)), "auto");
    return new ConnectionSettings(
        reader.prefix(),
        typeOfService,
        ackTimeoutMs == null ? null : ackTimeoutOfMs(ackTimeoutMs),
        retryCount,
        rnrRetryCount,
        maxRdAtomic,
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
