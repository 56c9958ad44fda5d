/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** A setting that cannot be taken as written; the message says what to write instead. */
public final class InvalidSettingException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  public InvalidSettingException(String message) {
    super(message);
  }
}
