/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import org.jspecify.annotations.Nullable;

/**
 * Bounds what readers who have proved themselves, and what they ask for, take of the heap of their server. It is counted in units of
 * about 100 bytes, which a range of a request takes. Any thread may call.
 */
public final class RequestQuota {
  /**
   * Bytes that may wait for a reader to read them, beside what the kernel's buffers hold. A reply to a request has at most 12 KiB, and
   * a reader that pauses may have 32 of them coming.
   */
  static final int UNSENT_BYTES = 128 << 10;

  /** What a reader itself counts for: half of what may wait for it, as not all of them can be in arrears. */
  static final int READER = 640;

  /** What a request counts for beside its ranges. */
  private static final int REQUEST = 4;

  /** What a range of an output with a name counts for. */
  private static final int NAMED = 2;

  private static final int UNIT_BYTES = 100;

  private final long most;
  private final @Nullable RequestQuota ofAll;
  private long taken; // guarded by this

  RequestQuota(long most) {
    this(most, null);
  }

  private RequestQuota(long most, @Nullable RequestQuota ofAll) {
    this.most = most;
    this.ofAll = ofAll;
  }

  /** That of a process: two fifths of its heap. */
  public static RequestQuota ofProcess() {
    return new RequestQuota(Runtime.getRuntime().maxMemory() / 5 * 2 / UNIT_BYTES);
  }

  /** A half of this one, so that one user leaves something to the others. */
  public RequestQuota ofUser() {
    return new RequestQuota(most / 2, this);
  }

  static int unitsOf(StageRequest request) {
    int units = REQUEST;
    for (StagedRange range : request.ranges()) {
      units += range.output().isNumbered() ? 1 : NAMED;
    }
    return units;
  }

  /** False if there is no room for so many. */
  synchronized boolean tryTake(long units) {
    if (units > most - taken || (ofAll != null && !ofAll.tryTake(units))) {
      return false;
    }
    taken += units;
    return true;
  }

  synchronized void giveBack(long units) {
    taken -= units;
    if (ofAll != null) {
      ofAll.giveBack(units);
    }
  }
}
