/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

/** A map output stays unpublished, so TCP serves it; nothing is left behind. */
public final class NotPublishedException extends Exception {
  private static final long serialVersionUID = 1L;

  /** Why. */
  public enum Reason {
    /** It alone, or its descriptor, exceeds what the executor may register. */
    BUDGET,
    /** The file is not as long as its partitions. */
    FILE_CHANGED,
    /** It could not be mapped or registered. */
    REGISTRATION,
    /** Registration has failed several times in a row and is not tried for a while. */
    REGISTRATION_PAUSED,
    /** Its shuffle was removed while its task ran. */
    REMOVED,
    /** Its executor is stopping. */
    CLOSED
  }

  private final Reason reason;

  NotPublishedException(Reason reason, String message) {
    super(message);
    this.reason = reason;
  }

  NotPublishedException(Reason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
