/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.jspecify.annotations.Nullable;

/** One run of one executor: after a restart it is another peer. */
public record PeerId(String executorId, RdmaEndpoint endpoint) {
  /** The executor id of a node service, which has map outputs of executors that have ended. No executor has it. */
  public static final String NODE_SERVICE = "node-service";

  // Written out, because those of a record are linked at run time, at a cost to each new executor.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PeerId that
        && executorId.equals(that.executorId)
        && endpoint.equals(that.endpoint);
  }

  @Override
  public int hashCode() {
    return 31 * executorId.hashCode() + endpoint.hashCode();
  }

  @Override
  public String toString() {
    return executorId + "@" + endpoint;
  }
}
