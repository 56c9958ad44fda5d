/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/** {@code enum rdma_cm_event_type}, in its order. */
public enum CmEventType {
  ADDR_RESOLVED,
  ADDR_ERROR,
  ROUTE_RESOLVED,
  ROUTE_ERROR,
  CONNECT_REQUEST,
  CONNECT_RESPONSE,
  CONNECT_ERROR,
  UNREACHABLE,
  REJECTED,
  ESTABLISHED,
  DISCONNECTED,
  DEVICE_REMOVAL,
  MULTICAST_JOIN,
  MULTICAST_ERROR,
  ADDR_CHANGE,
  TIMEWAIT_EXIT,
  /** A value this code does not know. */
  UNKNOWN;

  private static final List<CmEventType> BY_VALUE = List.of(values());

  static CmEventType of(int value) {
    return value >= 0 && value < BY_VALUE.size() ? BY_VALUE.get(value) : UNKNOWN;
  }
}
