/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The fields of {@code struct ibv_qp_cap}: the capabilities requested for a queue pair, or those
 * granted.
 */
public record QueuePairCapabilities(
    int maxSendWr, int maxRecvWr, int maxSendSge, int maxRecvSge, int maxInline) {
  int[] toArray() {
    return new int[] {maxSendWr, maxRecvWr, maxSendSge, maxRecvSge, maxInline};
  }

  static QueuePairCapabilities of(int[] values) {
    return new QueuePairCapabilities(values[0], values[1], values[2], values[3], values[4]);
  }
}
