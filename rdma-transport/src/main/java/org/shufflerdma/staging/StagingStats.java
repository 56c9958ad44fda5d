/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.metrics.LatencyHistogram;

/** What a staging server has done since it began. */
public final class StagingStats {
  public final LongAdder requests = new LongAdder();
  public final LongAdder bytesStaged = new LongAdder();

  /** Ranges that could not be read: they do not exist, or their disk failed. */
  public final LongAdder rangesRefused = new LongAdder();

  /** Control connections that were proved. */
  public final LongAdder readersAccepted = new LongAdder();

  /** Control connections that ended because they did not keep to the protocol. */
  public final LongAdder readersRefused = new LongAdder();

  /** Requests for which there was no memory when they came. */
  public final LongAdder requestsWaited = new LongAdder();

  /** Loans that were taken back because their reader had not returned them when their lease was over. */
  public final LongAdder loansOverdue = new LongAdder();

  /** To look up, to read from files and to sum up what one request of a reader asks for. */
  public final LatencyHistogram fileTimes = new LatencyHistogram();
}
