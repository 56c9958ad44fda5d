/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

/** RDMA cannot be used on this executor; the message says why, for the one line that tells it. */
final class RdmaUnavailableException extends Exception {
  private static final long serialVersionUID = 1L;

  RdmaUnavailableException(String message) {
    super(message);
  }

  RdmaUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
