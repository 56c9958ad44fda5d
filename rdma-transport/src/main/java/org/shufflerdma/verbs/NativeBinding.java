/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** How DiSNI's dispatcher class, under whatever name, gets its natives. Not for anybody else. */
public final class NativeBinding {
  private NativeBinding() {}

  /** Loads the natives if nobody has and binds those of {@code dispatcher}. */
  public static void register(Class<?> dispatcher) {
    try {
      NativeLibrary.load(null);
    } catch (NativeLibraryException e) {
      UnsatisfiedLinkError error = new UnsatisfiedLinkError(e.getMessage());
      error.initCause(e);
      throw error;
    }
    Natives.registerDispatcher(dispatcher);
  }

  /** The natives have nothing to call before a provider is bound. */
  public static void requireProvider() throws VerbsException {
    if (!Verbs.isOpen()) {
      throw new VerbsException(
          "no verbs provider is bound: call Verbs.open first", "Verbs.open", Errno.ENODEV);
    }
  }
}
