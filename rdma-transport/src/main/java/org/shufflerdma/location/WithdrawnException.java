/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

/** The descriptor is the owner's, but says that the map output cannot be read now. */
public final class WithdrawnException extends InvalidDescriptorException {
  private static final long serialVersionUID = 1L;

  WithdrawnException() {
    super("its owner has withdrawn the map output, or has no room for it yet");
  }
}
