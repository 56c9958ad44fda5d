/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the events of one application add up to. Its size follows from stages and executors, not from tasks, and is bounded;
 * what exceeds the bounds is counted as ignored. One thread adds to it.
 */
final class Application {
  private static final int MOST_STAGES = 20_000;
  private static final int MOST_EXECUTORS = 20_000;
  private static final int MOST_INPUTS = 200_000;

  private final Map<StageKey, StageTotals> stages = new TreeMap<>();
  private final Map<String, Integer> executors = new HashMap<>();
  private final Set<String> alive = new HashSet<>();
  private final Set<String> hosts = new HashSet<>();
  private SparkProperties properties = new SparkProperties(Map.of());
  private String id = "";
  private String name = "";
  private String sparkVersion = "";
  private long cores;
  private int mostAlive;
  private int inputs;
  private boolean ended;
  private long tasks;
  private long ignored;

  void start(String id, String name) {
    this.id = id;
    this.name = name;
  }

  void version(String spark) {
    sparkVersion = spark;
  }

  void end() {
    ended = true;
  }

  void environment(Map<String, String> settings) {
    properties = new SparkProperties(Map.copyOf(settings));
  }

  void executorAdded(String executor, String host, long coresOfIt) {
    if (executor.equals("driver") || number(executor) == null) {
      return;
    }
    alive.add(executor);
    hosts.add(host);
    mostAlive = Math.max(mostAlive, alive.size());
    cores = coresOfIt;
  }

  void executorRemoved(String executor) {
    alive.remove(executor);
  }

  void describe(StageDescription description) {
    StageTotals stage = stage(description.key());
    inputs += description.inputs().size();
    if (stage == null || inputs > MOST_INPUTS) {
      ignored++;
      return;
    }
    stage.describe(description);
  }

  void add(TaskEnd task) {
    StageTotals stage = stage(task.stage());
    Integer executor = number(task.executor());
    if (stage == null || executor == null) {
      ignored++;
      return;
    }
    tasks++;
    stage.add(task, executor);
  }

  /** An event that could not be used. */
  void ignore() {
    ignored++;
  }

  private @Nullable StageTotals stage(StageKey key) {
    StageTotals known = stages.get(key);
    if (known == null && stages.size() < MOST_STAGES) {
      known = new StageTotals(key);
      stages.put(key, known);
    }
    return known;
  }

  private @Nullable Integer number(String executor) {
    Integer known = executors.get(executor);
    if (known == null && executors.size() < MOST_EXECUTORS) {
      known = executors.size();
      executors.put(executor, known);
    }
    return known;
  }

  /** By number. */
  Collection<StageTotals> stages() {
    return stages.values();
  }

  SparkProperties properties() {
    return properties;
  }

  String id() {
    return id;
  }

  String name() {
    return name;
  }

  String sparkVersion() {
    return sparkVersion;
  }

  /** Most executors that lived at the same time; if the log does not say when they started, all that ran tasks. */
  int executors() {
    return mostAlive > 0 ? mostAlive : executors.size();
  }

  int hosts() {
    return hosts.size();
  }

  /** Of an executor; 0 if the log does not say it. */
  long cores() {
    return cores;
  }

  long tasks() {
    return tasks;
  }

  boolean ended() {
    return ended;
  }

  /** Events that could not be used. */
  long ignored() {
    return ignored;
  }
}
