/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * What an executor learns from the driver once. Only JDK types travel, as Spark's RPC on an
 * executor does not see classes that came with {@code --jars}.
 *
 * @param token shared by the executors of this application; no secret where Spark itself is open
 * @param accumulators by public name, each serialized; one deserialized in a task reports from there
 */
@SuppressWarnings("ArrayRecordComponent")
record ApplicationGreeting(byte[] token, Map<String, byte[]> accumulators) {
  static final String ENDPOINT_NAME = "shuffle-rdma";

  /** The request, and the key of the token in the answer. */
  static final String REQUEST = "shuffle-rdma/1";

  static final int TOKEN_BYTES = 16;

  Serializable toWire() {
    HashMap<String, byte[]> wire = new HashMap<>(accumulators);
    wire.put(REQUEST, token);
    return wire;
  }

  /** Throws IllegalArgumentException for what no driver of this version would answer. */
  static ApplicationGreeting ofWire(Map<?, ?> wire) {
    Map<String, byte[]> accumulators = new HashMap<>();
    wire.forEach((key, value) -> {
      if (!(key instanceof String name) || !(value instanceof byte[] bytes)) {
        throw new IllegalArgumentException("the driver's answer holds something else than bytes");
      }
      accumulators.put(name, bytes);
    });
    byte[] token = accumulators.remove(REQUEST);
    if (token == null || token.length != TOKEN_BYTES) {
      throw new IllegalArgumentException("the driver's answer holds no token");
    }
    return new ApplicationGreeting(token, accumulators);
  }
}
