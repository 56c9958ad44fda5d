/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

/** Reports something that the caller can put right; the message says how. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  RefusedException(String message) {
    super(message);
  }

  RefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
