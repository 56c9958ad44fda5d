/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.io.Serializable;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shufflerdma.mapstatus.PublishedEndpoint;

/**
 * The endpoints of an application's executors, on its driver. Executors say theirs, and ask for all others'. What travels are
 * classes of the JDK only, because Spark's RPC does not see those that came with {@code --jars}. Any thread may call.
 */
public final class Endpoints {
  private static final String ASK = "shuffle-rdma/endpoints";
  private static final String SAY = "shuffle-rdma/endpoint";

  /** Those of executors that have ended stay, as their files may be served by others, but not of more than so many. */
  private static final int MOST = 10_000;

  private static final int LONGEST_ID = 64;

  /** By executor id, in the form of {@link PublishedEndpoint#toText}. Guarded by this. */
  private final Map<String, String> byExecutor = new LinkedHashMap<>();

  /** The message that asks for all endpoints; the answer is a map of texts by executor id. */
  static Serializable question() {
    return ASK;
  }

  /** The message by which an executor says its own. */
  static Serializable announcement(String executorId, String endpoint) {
    return new String[] {SAY, executorId, endpoint};
  }

  /** Handles an executor's message, and returns the answer. */
  public synchronized Serializable receive(Object message) {
    if (ASK.equals(message)) {
      return new HashMap<>(byExecutor);
    }
    if (message instanceof String[] words
        && words.length == 3
        && words[0].equals(SAY)
        && words[1].length() <= LONGEST_ID
        && PublishedEndpoint.ofText(words[2]).isPresent()) {
      byExecutor.putIfAbsent(
          words[1], words[2]); // no two executors of an application have the same id
      if (byExecutor.size() > MOST) {
        byExecutor.remove(byExecutor.keySet().iterator().next());
      }
      return ASK;
    }
    throw new IllegalArgumentException("an executor of another version sent " + message);
  }
}
