/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** The errno values of Linux that callers decide on. */
public final class Errno {
  public static final int ENOENT = 2;
  public static final int EIO = 5;
  public static final int ENOMEM = 12;
  public static final int EBUSY = 16;
  public static final int ENODEV = 19;
  public static final int EINVAL = 22;
  public static final int EOPNOTSUPP = 95;
  public static final int ETIMEDOUT = 110;

  private Errno() {}
}
