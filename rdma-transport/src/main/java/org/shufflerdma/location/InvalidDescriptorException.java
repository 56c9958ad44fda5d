/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import java.io.IOException;

/**
 * The bytes that were read are not the descriptor of the expected map output: they are foreign
 * memory, a withdrawn output, or a torn read. The block is then fetched another way.
 */
public class InvalidDescriptorException extends IOException {
  private static final long serialVersionUID = 1L;

  public InvalidDescriptorException(String reason) {
    super(reason);
  }
}
