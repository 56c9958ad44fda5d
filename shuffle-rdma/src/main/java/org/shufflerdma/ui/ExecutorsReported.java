/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An event with the states of executors, by which they come into the event log. A history server without this class drops such
 * events with one warning (Spark's {@code ReplayListenerBus}).
 */
public final class ExecutorsReported implements SparkListenerEvent {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** Those whose state has changed. */
  public List<ExecutorState> executors = List.of();

  /** For Jackson. */
  public ExecutorsReported() {}

  /**
   * Tells the listeners of an application. Each call costs the event log a flush, so collect states for a while.
   */
  public static void post(SparkContext context, List<ExecutorState> executors) {
    ExecutorsReported event = new ExecutorsReported();
    event.executors = executors;
    try {
      context.listenerBus().post(event);
    } catch (RuntimeException | LinkageError e) {
      LOG.debug("The states of {} executors were not posted", executors.size(), e);
    }
  }
}
