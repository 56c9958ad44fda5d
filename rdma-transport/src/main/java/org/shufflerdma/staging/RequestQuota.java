/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import org.jspecify.annotations.Nullable;

/**
 * Bounds what readers who have proved themselves, and what they ask for, take of the heap of their server: in ranges, each of which
 * takes about 100 bytes. Any thread may call.
 */
public final class RequestQuota {
  /** What a reader itself counts for, most of it for the buffer of its connection. */
  static final int READER = 160;

  private static final int MOST = 1 << 20;
  private static final int MOST_OF_USER = MOST / 2;

  private final int most;
  private final @Nullable RequestQuota ofAll;
  private int taken; // guarded by this

  private RequestQuota(int most, @Nullable RequestQuota ofAll) {
    this.most = most;
    this.ofAll = ofAll;
  }

  /** That of a process. */
  public static RequestQuota ofProcess() {
    return new RequestQuota(MOST, null);
  }

  /** A share of this one, so that one user leaves something to the others. */
  public RequestQuota ofUser() {
    return new RequestQuota(MOST_OF_USER, this);
  }

  /** False if there is no room for so many. */
  synchronized boolean tryTake(int ranges) {
    if (ranges > most - taken || (ofAll != null && !ofAll.tryTake(ranges))) {
      return false;
    }
    taken += ranges;
    return true;
  }

  synchronized void giveBack(int ranges) {
    taken -= ranges;
    if (ofAll != null) {
      ofAll.giveBack(ranges);
    }
  }
}
