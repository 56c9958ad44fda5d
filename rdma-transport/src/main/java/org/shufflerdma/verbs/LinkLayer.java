/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** {@code IBV_LINK_LAYER_*} of a port. */
public enum LinkLayer {
  UNSPECIFIED,
  INFINIBAND,
  ETHERNET;

  static LinkLayer of(int value) {
    return value == 1 ? INFINIBAND : value == 2 ? ETHERNET : UNSPECIFIED;
  }
}
