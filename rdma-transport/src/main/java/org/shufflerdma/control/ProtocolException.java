/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;

/** What the other end of a control connection sent is not what the protocol says. */
public final class ProtocolException extends IOException {
  private static final long serialVersionUID = 1L;

  public ProtocolException(String message) {
    super(message);
  }
}
