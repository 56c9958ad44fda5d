/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import org.apache.spark.InternalAccumulator;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.StageInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;

/** Logs the verdict on each stage that has ended. Called by Spark's thread for listeners alone. */
final class StageWatch extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** Of tasks on executors. */
  private static final String RUN_TIME_MS = InternalAccumulator.EXECUTOR_RUN_TIME();

  private final IntFunction<MemoryAdvice> advice;
  private final IntSupplier executors;

  /**
   * @param advice for so many executors
   * @param executors that the application has now
   */
  StageWatch(IntFunction<MemoryAdvice> advice, IntSupplier executors) {
    this.advice = advice;
    this.executors = executors;
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    StageInfo stage = completed.stageInfo();
    Map<String, Long> sums = sums(stage);
    @Nullable
    String verdict = StageVerdict.of(
        count -> sums.getOrDefault(count.publicName(), 0L),
        TimeUnit.MILLISECONDS.toMicros(sums.getOrDefault(RUN_TIME_MS, 0L)),
        advice.apply(executors.getAsInt()));
    if (verdict != null) {
      LOG.info("Stage {} ({}): {}", stage.stageId(), stage.name(), verdict);
    }
  }

  private static Map<String, Long> sums(StageInfo stage) {
    Map<String, Long> sums = new HashMap<>();
    Iterator<AccumulableInfo> each = stage.accumulables().valuesIterator();
    while (each.hasNext()) {
      AccumulableInfo info = each.next();
      if (info.name().isDefined()
          && (info.name().get().startsWith("shuffle.rdma.")
              || info.name().get().equals(RUN_TIME_MS))
          && info.value().isDefined()
          && info.value().get() instanceof Long sum) {
        sums.put(info.name().get(), sum);
      }
    }
    return sums;
  }
}
