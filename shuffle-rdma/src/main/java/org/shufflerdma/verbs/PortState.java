/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** {@code enum ibv_port_state}. */
public enum PortState {
  NOP,
  DOWN,
  INIT,
  ARMED,
  ACTIVE,
  ACTIVE_DEFER,
  /** A value this code does not know. */
  UNKNOWN;

  static PortState of(int value) {
    return value >= 0 && value < UNKNOWN.ordinal() ? values()[value] : UNKNOWN;
  }
}
