/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.List;

/**
 * How many READs may be posted at a time on each connection of a transport: as many as are set while there are few
 * connections, and fewer on a connection that is made when there are many, as each needs less to keep the device busy
 * then. A list of READs always fits. Immutable.
 *
 * @param most on a connection that is made while there are few, at least {@code least}
 * @param least the READs of a list
 */
record QueueDepths(int most, int least) {
  /** Connections up to this one get the depth divided by this. */
  private record Step(int upTo, int divisor) {}

  private static final List<Step> STEPS =
      List.of(new Step(64, 1), new Step(256, 2), new Step(Integer.MAX_VALUE, 4));

  /**
   * Returns the depth for a new connection. As many connections as there are at a time, in whatever order they came and
   * went, have no more than {@link #sum} together: the one that is the n-th oldest of them has been made when there were
   * n at least.
   *
   * @param number how many connections there are with it
   */
  int of(int number) {
    for (Step step : STEPS) {
      if (number <= step.upTo) {
        return depth(step);
      }
    }
    throw new AssertionError(number);
  }

  private int depth(Step step) {
    return Math.max(least, most / step.divisor);
  }

  /** Returns the sum of the depths of so many connections, which is the most that they may have. */
  long sum(int connections) {
    long sum = 0;
    int before = 0;
    for (Step step : STEPS) {
      int upTo = Math.min(connections, step.upTo);
      sum += (long) Math.max(0, upTo - before) * depth(step);
      before = step.upTo;
    }
    return sum;
  }

  /** Returns how many connections there may be at most for the sum of their depths to be no more than this. */
  int connections(long sum) {
    int connections = 0;
    long left = sum;
    for (Step step : STEPS) {
      int more = (int) Math.min(step.upTo - connections, left / depth(step));
      connections += more;
      left -= (long) more * depth(step);
      if (connections < step.upTo) {
        break;
      }
    }
    return connections;
  }
}
