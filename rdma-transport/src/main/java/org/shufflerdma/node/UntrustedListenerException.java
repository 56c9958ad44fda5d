/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.IOException;

/** Somebody listens at the node service's socket who must not be told an application's key. */
public final class UntrustedListenerException extends IOException {
  private static final long serialVersionUID = 1;

  UntrustedListenerException(String message) {
    super(message);
  }
}
