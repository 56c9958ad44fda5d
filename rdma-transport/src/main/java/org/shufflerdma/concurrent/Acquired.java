/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The resources that an object has acquired one after the other. It gives them back in reverse
 * order, when the object is closed or as soon as a later resource cannot be acquired.
 */
public final class Acquired implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Acquired.class);

  private final Deque<AutoCloseable> resources = new ConcurrentLinkedDeque<>();

  /** Takes over {@code resource}, and returns it. */
  public <T extends AutoCloseable> T keep(T resource) {
    resources.push(resource);
    return resource;
  }

  /**
   * Gives everything back; a failure is logged and does not keep the others. Later calls do nothing.
   */
  @Override
  public void close() {
    boolean interrupted = false;
    AutoCloseable resource;
    while ((resource = resources.poll()) != null) {
      try {
        resource.close();
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (Exception e) {
        LOG.error("RDMA resource {} could not be closed", resource, e);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
