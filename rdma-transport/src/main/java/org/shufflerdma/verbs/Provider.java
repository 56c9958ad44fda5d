/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** The implementation of the verbs that a process uses; see {@link Verbs#open}. */
public enum Provider {
  /** libibverbs.so.1 and librdmacm.so.1 of the host: real hardware or soft-RoCE. */
  SYSTEM,
  /** The software device from the jar. */
  SOFT
}
