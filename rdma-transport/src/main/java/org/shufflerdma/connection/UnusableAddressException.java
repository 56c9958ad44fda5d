/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;

/** The address to bind to leads to no RDMA device, or to another one. */
public final class UnusableAddressException extends IOException {
  private static final long serialVersionUID = 1L;

  UnusableAddressException(String message) {
    super(message);
  }
}
