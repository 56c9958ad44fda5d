/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.Serializable;
import org.shufflerdma.hardware.HostExam;

/** What the driver tells an executor to do next. */
sealed interface Command extends Serializable {
  /** Nothing: ask again. */
  record Wait() implements Command {}

  /**
   * Examine the host, and offer something to read. The result is a {@link HostExam}.
   *
   * @param secret of the run, which all executors share
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Examine(String appId, byte[] secret) implements Command {}

  /** Read from another executor. The result is a {@link org.shufflerdma.hardware.WayMeasurement}. */
  record Measure(HostExam other) implements Command {}

  /** Read the counters of the port. The result is a {@link java.util.TreeMap} of them. */
  record Count() implements Command {}

  /** Give everything back, and ask no more. */
  record End() implements Command {}
}
