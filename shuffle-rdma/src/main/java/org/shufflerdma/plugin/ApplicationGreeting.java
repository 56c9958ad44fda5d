/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * The driver's answer to the one question that an executor asks it. It travels as JDK types only,
 * because Spark's RPC on an executor does not see classes that came with {@code --jars}.
 *
 * @param token shared by the executors of this application; not a secret unless Spark authenticates
 * @param accumulators serialized accumulators by public name; a task that deserializes one reports by it
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

  /** Throws IllegalArgumentException if no driver of this version would give this answer. */
  static ApplicationGreeting ofWire(Map<?, ?> wire) {
    Map<String, byte[]> accumulators = new HashMap<>();
    wire.forEach((key, value) -> {
      if (!(key instanceof String name) || !(value instanceof byte[] bytes)) {
        throw new IllegalArgumentException(
            "the driver's answer contains a value that is not a byte array");
      }
      accumulators.put(name, bytes);
    });
    byte[] token = accumulators.remove(REQUEST);
    if (token == null || token.length != TOKEN_BYTES) {
      throw new IllegalArgumentException("the driver's answer contains no token");
    }
    return new ApplicationGreeting(token, accumulators);
  }
}
