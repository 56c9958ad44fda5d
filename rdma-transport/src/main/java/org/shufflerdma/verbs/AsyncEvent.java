/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * An asynchronous event of a device.
 *
 * @param type its {@code enum ibv_event_type}
 * @param text the name of the type
 * @param element what it is about: the number of a queue pair (32 bits, unsigned) or of a port, the handle of a
 *     completion queue ({@link CompletionQueue#isSubjectOf}), otherwise 0
 */
public record AsyncEvent(int type, String text, long element) {
  public static final int CQ_ERR = 0;
  public static final int QP_FATAL = 1;
  public static final int QP_REQ_ERR = 2;
  public static final int QP_ACCESS_ERR = 3;
  public static final int DEVICE_FATAL = 8;
  public static final int PORT_ACTIVE = 9;
  public static final int PORT_ERR = 10;
  public static final int GID_CHANGE = 18;

  /** Whether it concerns the whole device or a port, and with it everybody who uses them. */
  public boolean isOfDeviceOrPort() {
    return type >= DEVICE_FATAL && type <= PORT_ERR;
  }
}
