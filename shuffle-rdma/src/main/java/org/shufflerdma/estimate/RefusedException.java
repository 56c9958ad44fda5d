/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/** Reports something that the caller can put right; the message says how. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  RefusedException(String message) {
    super(message);
  }
}
