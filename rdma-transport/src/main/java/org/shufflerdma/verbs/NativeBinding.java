/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * Binds the native functions of DiSNI's dispatcher class, under whatever name it has. Only that
 * class calls this.
 */
public final class NativeBinding {
  private NativeBinding() {}

  /**
   * Loads the native library unless it is loaded, and binds the functions of {@code dispatcher}.
   */
  public static void register(Class<?> dispatcher) {
    try {
      NativeLibrary.load();
    } catch (NativeLibraryException e) {
      UnsatisfiedLinkError error = new UnsatisfiedLinkError(e.getMessage());
      error.initCause(e);
      throw error;
    }
    Natives.registerDispatcher(dispatcher);
  }

  /** Fails unless a provider is bound, since the native functions have nothing to call before. */
  public static void requireProvider() throws VerbsException {
    if (!Verbs.isOpen()) {
      throw new VerbsException(
          "no verbs provider is bound: call Verbs.open first", "Verbs.open", Errno.ENODEV);
    }
  }
}
