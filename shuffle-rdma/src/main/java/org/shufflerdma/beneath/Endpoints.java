/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The endpoints of an application's executors, on its driver. Executors say theirs, and ask for all others'. What travels are
 * classes of the JDK only, because Spark's RPC does not see those that came with {@code --jars}. Any thread may call.
 */
public final class Endpoints {
  private static final String ASK = "shuffle-rdma/endpoints";
  private static final String SAY = "shuffle-rdma/endpoint";

  /** By executor id, in the form of {@link org.shufflerdma.mapstatus.PublishedEndpoint#toText}. */
  private final Map<String, String> byExecutor = new ConcurrentHashMap<>();

  /** The message that asks for all endpoints; the answer is a map of texts by executor id. */
  static Serializable question() {
    return ASK;
  }

  /** The message by which an executor says its own. */
  static Serializable announcement(String executorId, String endpoint) {
    return new String[] {SAY, executorId, endpoint};
  }

  /** Handles an executor's message, and returns the answer. */
  public @Nullable Serializable receive(Object message) {
    if (ASK.equals(message)) {
      return new HashMap<>(byExecutor);
    }
    if (message instanceof String[] words && words.length == 3 && words[0].equals(SAY)) {
      byExecutor.put(words[1], words[2]);
      return ASK;
    }
    throw new IllegalArgumentException("an executor of another version sent " + message);
  }

  /** The executor is gone. */
  public void remove(String executorId) {
    byExecutor.remove(executorId);
  }
}
