/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/** {@code enum ibv_qp_state}, in its order. */
public enum QueuePairState {
  RESET,
  INIT,
  RTR,
  RTS,
  SQD,
  SQE,
  ERR,
  UNKNOWN;

  private static final List<QueuePairState> BY_VALUE = List.of(values());

  static QueuePairState of(int value) {
    return value >= 0 && value < BY_VALUE.size() ? BY_VALUE.get(value) : UNKNOWN;
  }
}
