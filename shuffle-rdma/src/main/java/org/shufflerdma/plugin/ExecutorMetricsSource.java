/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.spark.metrics.source.Source;
import org.jspecify.annotations.Nullable;

/** The executor's counts and times as a source of Spark's metrics system, named {@code shuffleRdma}. */
final class ExecutorMetricsSource implements Source {
  private final MetricRegistry registry = new MetricRegistry();

  /**
   * @param times null if RDMA was not started
   */
  ExecutorMetricsSource(ExecutorCounts counts, @Nullable ExecutorTimes times) {
    Map<String, LongSupplier> gauges = new LinkedHashMap<>(counts.gauges());
    if (times != null) {
      times.addGauges(gauges);
    }
    gauges.forEach((name, value) -> {
      Gauge<Long> gauge = value::getAsLong;
      registry.register(name, gauge);
    });
  }

  @Override
  public String sourceName() {
    return "shuffleRdma";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return registry;
  }
}
