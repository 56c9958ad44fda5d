/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

/** A thread may still be inside something that was to be closed, so what it uses must not be destroyed. */
public final class StillInUseException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  public StillInUseException(String message) {
    super(message);
  }
}
