/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;

/** No buffer of the wanted size became free in time; the caller takes another way. */
public final class PoolExhaustedException extends IOException {
  private static final long serialVersionUID = 1L;

  PoolExhaustedException(String message) {
    super(message);
  }
}
