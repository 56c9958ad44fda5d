/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** Whose implementation of the verbs a process uses. Chosen once, see {@link Verbs#open}. */
public enum Provider {
  /** libibverbs.so.1 and librdmacm.so.1 of the host: real hardware or soft-RoCE. */
  SYSTEM,
  /** The software device that lies in the jar. */
  SOFT
}
