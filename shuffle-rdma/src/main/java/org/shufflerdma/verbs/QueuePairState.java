/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

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

  static QueuePairState of(int value) {
    return value >= 0 && value < UNKNOWN.ordinal() ? values()[value] : UNKNOWN;
  }
}
