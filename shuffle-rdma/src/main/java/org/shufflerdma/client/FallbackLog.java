/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.util.concurrent.atomic.AtomicBoolean;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs why RDMA did not deliver blocks: a reason at most once a minute. One per executor. */
public final class FallbackLog {
  private static final Logger LOG = LoggerFactory.getLogger(FallbackLog.class);

  private final LogThrottle throttle = new LogThrottle();

  private final AtomicBoolean filesOfHostNoted = new AtomicBoolean();

  public void noteFilesOfHost() {
    if (filesOfHostNoted.compareAndSet(false, true)) {
      LOG.info("Blocks of other executors on this host are read from their files, not by RDMA;"
          + " spark.shuffle.readHostLocalDisk=false changes that");
    }
  }

  public void note(String blockId, String executorId, TcpReason reason, Throwable cause) {
    LOG.debug("Block {} of executor {}: {}", blockId, executorId, reason, cause);
    long held = throttle.tryLog();
    if (held >= 0) {
      LOG.warn(
          "RDMA did not deliver block {} of executor {} ({}): {}. {} other blocks were not delivered"
              + " since the last such message.",
          blockId,
          executorId,
          reason.label(),
          cause.getMessage(),
          held);
    }
  }
}
