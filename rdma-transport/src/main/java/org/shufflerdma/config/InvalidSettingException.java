/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** Refuses a setting whose value is not accepted; the message says what to write instead. */
public final class InvalidSettingException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  public InvalidSettingException(String message) {
    super(message);
  }
}
