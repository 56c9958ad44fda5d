/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.io.IOException;
import org.shufflerdma.metrics.TcpReason;

/**
 * The bytes that were read are not the descriptor of the expected map output: they are foreign
 * memory, a withdrawn output, or a torn read. The block is then fetched another way.
 */
public final class InvalidDescriptorException extends IOException {
  private static final long serialVersionUID = 1L;

  private final TcpReason tcpReason;

  public InvalidDescriptorException(String message) {
    this(TcpReason.DESCRIPTOR, message);
  }

  InvalidDescriptorException(TcpReason tcpReason, String message) {
    super(message);
    this.tcpReason = tcpReason;
  }

  public TcpReason tcpReason() {
    return tcpReason;
  }
}
