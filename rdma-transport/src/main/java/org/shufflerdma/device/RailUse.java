/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * That this process uses a rail, which the other executors of its host see. It ends with the process, or when it is
 * closed, and may begin again after that. Any thread may call.
 */
public final class RailUse implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RailUse.class);

  private final @Nullable RailLocks locks;
  private final String rail;
  private final int position;
  private @Nullable Closeable lock;

  /**
   * @param locks null if the others cannot see it
   * @param position of the rail in the list of devices, from 1; 0 if it is not one of several
   */
  RailUse(@Nullable RailLocks locks, String rail, int position) {
    this.locks = locks;
    this.rail = rail;
    this.position = position;
  }

  /** Of a device that is not one of several rails. */
  static RailUse none() {
    return new RailUse(null, "", 0);
  }

  /** Returns the position of the rail in the list of devices, from 1; 0 of a device that is not one of several rails. */
  public int position() {
    return position;
  }

  /** Lets the others see it, unless they do. A rail can be used, too, if they cannot. */
  synchronized void begin() {
    if (locks == null || lock != null) {
      return;
    }
    try {
      lock = locks.use(rail);
    } catch (IOException e) {
      LOG.info(
          "Other executors of this host do not see that this one uses rail {}: {}",
          rail,
          e.toString());
    }
  }

  @Override
  public synchronized void close() throws IOException {
    Closeable held = lock;
    lock = null;
    if (held != null) {
      held.close();
    }
  }
}
