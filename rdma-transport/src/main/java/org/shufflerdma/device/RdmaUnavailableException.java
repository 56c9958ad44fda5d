/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

/** RDMA cannot be used on this executor; the message says why, for the one line that tells it. */
public final class RdmaUnavailableException extends Exception {
  private static final long serialVersionUID = 1L;

  public RdmaUnavailableException(String message) {
    super(message);
  }

  public RdmaUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
