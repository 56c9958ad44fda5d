/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

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

  private static final List<PortState> BY_VALUE = List.of(values());

  static PortState of(int value) {
    return value >= 0 && value < BY_VALUE.size() ? BY_VALUE.get(value) : UNKNOWN;
  }
}
