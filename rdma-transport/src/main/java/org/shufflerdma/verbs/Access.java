/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** Access flags of memory regions and queue pairs: the values of {@code enum ibv_access_flags}. */
public final class Access {
  public static final int NONE = 0;
  public static final int LOCAL_WRITE = 1;
  public static final int REMOTE_WRITE = 1 << 1;
  public static final int REMOTE_READ = 1 << 2;
  public static final int REMOTE_ATOMIC = 1 << 3;
  public static final int MW_BIND = 1 << 4;
  public static final int ON_DEMAND = 1 << 6;
  public static final int RELAXED_ORDERING = 1 << 20;

  private Access() {}
}
