/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * Reports that a native library could not be extracted or loaded; the message names file, reason
 * and remedy.
 */
public final class NativeLibraryException extends VerbsException {
  private static final long serialVersionUID = 1L;

  NativeLibraryException(String message) {
    super(message, "dlopen", 0);
  }

  NativeLibraryException(String message, Throwable cause) {
    this(message);
    initCause(cause);
  }
}
