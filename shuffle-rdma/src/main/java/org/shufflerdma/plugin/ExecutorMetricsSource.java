/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import org.apache.spark.metrics.source.Source;

/** The executor's counts as a source of Spark's metrics system, named {@code shuffleRdma}. */
final class ExecutorMetricsSource implements Source {
  private final MetricRegistry registry = new MetricRegistry();

  ExecutorMetricsSource(ExecutorCounts counts) {
    counts.gauges().forEach((name, value) -> {
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
