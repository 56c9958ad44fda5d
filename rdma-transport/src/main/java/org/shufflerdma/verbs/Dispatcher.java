/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import com.ibm.disni.verbs.impl.NativeDispatcher;

/**
 * DiSNI's binding to the verbs, for the calls that it provides. This project does not use DiSNI's
 * wrappers above the binding (RdmaCmNat, RdmaVerbsNat), because they forget a failed destroy, keep
 * destroyed ids in an unguarded map and log each call.
 */
final class Dispatcher {
  static final NativeDispatcher DISNI;

  static {
    try {
      DISNI = new NativeDispatcher();
    } catch (VerbsException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Dispatcher() {}
}
