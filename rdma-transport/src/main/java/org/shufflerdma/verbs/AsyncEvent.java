/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * An asynchronous event of a device.
 *
 * @param type its {@code enum ibv_event_type}
 * @param text the name of the type
 * @param element the number of the queue pair or port that it is about, otherwise 0
 */
public record AsyncEvent(int type, String text, int element) {
  public static final int CQ_ERR = 0;
  public static final int QP_FATAL = 1;
  public static final int QP_REQ_ERR = 2;
  public static final int QP_ACCESS_ERR = 3;
  public static final int DEVICE_FATAL = 8;
  public static final int PORT_ACTIVE = 9;
  public static final int PORT_ERR = 10;
  public static final int GID_CHANGE = 18;
}
