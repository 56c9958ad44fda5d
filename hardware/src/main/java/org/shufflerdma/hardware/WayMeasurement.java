/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.Serializable;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one executor found when it read from another, by RDMA and by TCP.
 *
 * @param connectMs from the request until the probe block's right bytes had come
 * @param attributes of the connection; null if there was none
 * @param small READs of {@link #SMALL_BYTES}, one at a time; null if they failed
 * @param large READs of {@link #LARGE_BYTES}, {@link #LARGE_DEPTH} at a time; null if they failed
 * @param failure why RDMA does not serve; null if it does
 * @param tcpSmall the same over TCP
 * @param tcpFailure why TCP does not serve; null if it does
 */
public record WayMeasurement(
    double connectMs,
    @Nullable InForce attributes,
    @Nullable Speed small,
    @Nullable Speed large,
    @Nullable Failure failure,
    @Nullable Speed tcpSmall,
    @Nullable Speed tcpLarge,
    @Nullable String tcpFailure)
    implements Serializable {
  static final int SMALL_BYTES = 4 << 10;
  static final int LARGE_BYTES = 1 << 20;
  static final int LARGE_DEPTH = 8;

  /** How far a way came, and what kept it from going on. */
  public enum Stage {
    /** No connection was made. */
    CONNECT,
    /** The connection was made, but the probe block did not come. */
    PROBE,
    /** The probe block came, but larger READs failed. */
    READ,
    /** A READ brought wrong bytes. */
    BYTES,
    /** The reader, or its executor, did not answer. */
    READER
  }

  public record Failure(Stage stage, String text) implements Serializable {}

  /** The time of one operation in microseconds, and megabytes (10^6) a second of all. */
  public record Speed(double p50Us, double p99Us, double mbPerS) implements Serializable {
    static Speed of(Latencies latencies) {
      return new Speed(latencies.us(50), latencies.us(99), latencies.mbPerS());
    }

    Map<String, Object> json() {
      return Json.object("p50_us", p50Us, "p99_us", p99Us, "mb_per_s", mbPerS);
    }
  }

  /** Attributes in force of the reader's queue pair, see {@link org.shufflerdma.verbs.QueuePairAttributes}. */
  public record InForce(int mtuBytes, int trafficClass, int gidIndex, String gidType, int port)
      implements Serializable {
    Map<String, Object> json() {
      return Json.object(
          "path_mtu", mtuBytes,
          "traffic_class", trafficClass,
          "gid_index", gidIndex,
          "gid_type", gidType,
          "port", port);
    }
  }

  /** A way that was not tried, or whose reader did not answer. */
  public static WayMeasurement failed(Stage stage, String text) {
    return new WayMeasurement(0, null, null, null, new Failure(stage, text), null, null, null);
  }
}
