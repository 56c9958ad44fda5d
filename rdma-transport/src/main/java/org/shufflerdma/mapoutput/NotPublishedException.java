/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

/** A map output stays unpublished, so TCP serves it; nothing is left behind. */
public final class NotPublishedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final UnpublishedReason reason;

  NotPublishedException(UnpublishedReason reason, String message) {
    super(message);
    this.reason = reason;
  }

  NotPublishedException(UnpublishedReason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  public UnpublishedReason reason() {
    return reason;
  }
}
