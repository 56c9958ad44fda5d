/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEnvironmentUpdate;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.util.kvstore.KVStore;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.ui.StageRecords;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * Keeps the records of the stages of an application whose event log the history server replays. Called by the thread that
 * replays it.
 */
public final class ReplayedStages extends SparkListener {
  private static final String SPARK_PROPERTIES = "Spark Properties";

  private final StageRecords records;
  private final SparkConf conf = new SparkConf(false);
  private final Set<String> executors = new HashSet<>();
  private @Nullable StageWatch watch;

  /** @param store of the application's status, which remains the caller's */
  public ReplayedStages(SparkConf conf, KVStore store) {
    this.records = StageRecords.of(conf, store);
  }

  @Override
  public void onEnvironmentUpdate(SparkListenerEnvironmentUpdate update) {
    scala.Option<?> properties = update.environmentDetails().get(SPARK_PROPERTIES);
    if (properties.isDefined()) {
      Iterator<?> each = ((Iterable<?>) properties.get()).iterator();
      while (each.hasNext()) {
        Tuple2<?, ?> property = (Tuple2<?, ?>) each.next();
        conf.set(String.valueOf(property._1()), String.valueOf(property._2()));
      }
    }
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded added) {
    executors.add(added.executorId());
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
    executors.remove(removed.executorId());
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    watch().onStageSubmitted(submitted);
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd ended) {
    watch().onTaskEnd(ended);
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    watch().onStageCompleted(completed);
  }

  /** The settings come before the first stage. */
  private StageWatch watch() {
    if (watch == null) {
      Long registeredBytes = registeredBytes();
      watch = new StageWatch(
          () -> new MemoryAdvice(
              registeredBytes, SparkMemorySettings.overhead(conf), executors::size, false),
          ShufflePlugin.namesManager(conf),
          records,
          false);
    }
    return watch;
  }

  private @Nullable Long registeredBytes() {
    try {
      return ShufflePlugin.settingsOf(conf, new ArrayList<>()).maxRegisteredBytes();
    } catch (InvalidSettingException e) { // of another version of the plugin
      return null;
    }
  }
}
