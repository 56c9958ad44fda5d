/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkEnv;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.ui.ExecutorState;

/** How an executor's state comes to the driver: as JDK types only, as {@link ApplicationGreeting} has it. */
final class ExecutorReport {
  /** The key of the executor. */
  private static final String EXECUTOR = "shuffle-rdma/executor";

  private static final int LONGEST_TEXT = 500;

  private ExecutorReport() {}

  /** Whether a message to the driver is a report. */
  static boolean is(Object message) {
    return message instanceof Map<?, ?> wire && wire.containsKey(EXECUTOR);
  }

  /**
   * Returns the state of this executor now.
   *
   * @param rdma null if it has none, for a reason
   */
  static ExecutorState now(SparkEnv env, @Nullable RdmaStack rdma, @Nullable String withoutRdma) {
    ExecutorState state = new ExecutorState();
    state.executorId = env.executorId();
    state.host = env.blockManager().blockManagerId().host();
    if (rdma == null) {
      state.withoutRdma = withoutRdma;
    } else {
      state.device = rdma.transport().device().name();
      state.rail = rdma.rail();
      state.connections = rdma.transport().outboundConnections();
      state.registeredBytes = rdma.registeredBytes();
      state.maxRegisteredBytes = rdma.plan().maxRegisteredBytes();
    }
    return state;
  }

  static Serializable toWire(ExecutorState state) {
    HashMap<String, Serializable> wire = new HashMap<>();
    wire.put(EXECUTOR, state.executorId);
    wire.put("host", state.host);
    wire.put("device", state.device);
    wire.put("rail", (long) state.rail);
    wire.put("connections", (long) state.connections);
    wire.put("registeredBytes", state.registeredBytes);
    wire.put("peakRegisteredBytes", state.peakRegisteredBytes);
    wire.put("maxRegisteredBytes", state.maxRegisteredBytes);
    wire.put("withoutRdma", state.withoutRdma);
    return wire;
  }

  /** Throws IllegalArgumentException if no executor of this version would send this. */
  static ExecutorState ofWire(Map<?, ?> wire) {
    ExecutorState state = new ExecutorState();
    state.executorId = Objects.requireNonNullElse(text(wire, EXECUTOR), "");
    state.host = Objects.requireNonNullElse(text(wire, "host"), "");
    state.device = text(wire, "device");
    state.rail = (int) Math.min(Integer.MAX_VALUE, number(wire, "rail"));
    state.connections = (int) Math.min(Integer.MAX_VALUE, number(wire, "connections"));
    state.registeredBytes = number(wire, "registeredBytes");
    state.peakRegisteredBytes = number(wire, "peakRegisteredBytes");
    state.maxRegisteredBytes = number(wire, "maxRegisteredBytes");
    state.withoutRdma = text(wire, "withoutRdma");
    return state;
  }

  private static @Nullable String text(Map<?, ?> wire, String key) {
    Object value = wire.get(key);
    if (value == null || value instanceof String) {
      String text = (String) value;
      return text == null || text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT);
    }
    throw new IllegalArgumentException("an executor's report has no text " + key);
  }

  private static long number(Map<?, ?> wire, String key) {
    if (wire.get(key) instanceof Long number && number >= 0) {
      return number;
    }
    throw new IllegalArgumentException("an executor's report has no number " + key);
  }
}
