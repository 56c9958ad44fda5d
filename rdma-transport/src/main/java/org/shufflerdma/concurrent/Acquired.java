/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The resources that an object has acquired one after the other. It gives them back in reverse
 * order, when the object is closed or as soon as a later resource cannot be acquired, each one once.
 * Any thread may call.
 */
public final class Acquired implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Acquired.class);

  private final Deque<AutoCloseable> resources = new ConcurrentLinkedDeque<>();
  private volatile boolean closed;

  /** Takes over {@code resource}, and returns it. One that comes after the close is closed at once. */
  public <T extends AutoCloseable> T keep(T resource) {
    resources.push(resource);
    if (closed) {
      close();
    }
    return resource;
  }

  /** Gives {@code resource} back before the others, unless that has been done. */
  public void giveBack(AutoCloseable resource) {
    if (resources.remove(resource) && isInterruptedBy(resource)) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Gives everything back; a failure is logged and does not keep the others. A thread that is still at
   * work does: what was acquired before it, and it may use, is leaked. Later calls do nothing.
   */
  @Override
  public void close() {
    closed = true;
    boolean interrupted = false;
    AutoCloseable resource;
    while ((resource = resources.poll()) != null) {
      interrupted |= isInterruptedBy(resource);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Closes {@code resource}; true if that was interrupted. */
  private boolean isInterruptedBy(AutoCloseable resource) {
    try {
      resource.close();
    } catch (InterruptedException e) {
      return true;
    } catch (StillInUseException e) {
      LOG.error("{} resources are leaked, because a thread may use them", resources.size(), e);
      resources.clear();
    } catch (Exception | Error e) { // of a class that is missing, for example
      LOG.error("{} could not be closed", resource, e);
    }
    return false;
  }
}
