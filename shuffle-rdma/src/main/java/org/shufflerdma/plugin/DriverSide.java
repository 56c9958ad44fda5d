/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.kvstore.KVStore;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.ui.ExecutorRecords;
import org.shufflerdma.ui.ExecutorsReported;
import org.shufflerdma.ui.RdmaTab;
import org.shufflerdma.ui.StageRecords;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The driver's part of the plugin. It owns the named accumulators and the application's token, and
 * sends both to each executor that asks. Opened when Spark's environment is complete; its
 * {@link ShufflePlugin} closes it.
 */
record DriverSide(
    SparkEnv env,
    RpcEndpointRef endpoint,
    ExecutorReports reports,
    Map<String, LongAccumulator> accumulators)
    implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** Reports of executors become one event of Spark's, after which the event log is flushed. */
  private static final long REPORTS_MS = 2000;

  static DriverSide open(
      SparkContext context, SparkEnv env, RdmaSettings settings, boolean publishes) {
    Map<String, LongAccumulator> accumulators = new TreeMap<>();
    ReadCount.ALL.forEach(
        count -> accumulators.put(count.publicName(), register(context, count.publicName())));
    for (UnpublishedReason reason : UnpublishedReason.values()) {
      String name = ExecutorCounts.nameOf(reason);
      accumulators.put(name, register(context, name));
    }
    byte[] token = new byte[ApplicationGreeting.TOKEN_BYTES];
    new SecureRandom().nextBytes(token);
    Map<String, byte[]> serialized = new HashMap<>();
    accumulators.forEach((name, accumulator) -> serialized.put(name, serialize(accumulator)));
    ExecutorReports reports =
        new ExecutorReports(states -> ExecutorsReported.post(context, states), REPORTS_MS);
    GreetingEndpoint greeting = new GreetingEndpoint(
        env.rpcEnv(), new ApplicationGreeting(token, serialized).toWire(), reports::received);
    RpcEndpointRef ref = env.rpcEnv().setupEndpoint(ApplicationGreeting.ENDPOINT_NAME, greeting);
    KVStore store = RdmaTab.addTo(context);
    if (store != null) {
      context.addSparkListener(new ExecutorWatch(ExecutorRecords.of(context.conf(), store)));
    }
    context.addSparkListener(new StageWatch(
        () -> new MemoryAdvice(
            settings.maxRegisteredBytes(),
            SparkMemorySettings.overhead(env.conf()),
            () -> context.statusTracker().getExecutorInfos().length - 1, // without the driver
            sum(accumulators, ExecutorCounts.nameOf(UnpublishedReason.DESCRIPTORS))
                > sum(accumulators, ExecutorCounts.nameOf(UnpublishedReason.BUDGET))),
        publishes,
        store == null ? null : StageRecords.of(context.conf(), store),
        true));
    return new DriverSide(env, ref, reports, accumulators);
  }

  /** Counts failed tasks too, because they have read bytes as well. */
  private static LongAccumulator register(SparkContext context, String name) {
    LongAccumulator accumulator = new LongAccumulator();
    boolean countFailedValues = true;
    accumulator.register(
        context, Option.apply(TaskAccumulators.sparkName(name)), countFailedValues);
    return accumulator;
  }

  private static byte[] serialize(LongAccumulator accumulator) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(accumulator);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  @Override
  public void close() {
    env.rpcEnv().stop(endpoint);
    reports.close();
    StringBuilder totals = new StringBuilder();
    accumulators.forEach((name, accumulator) -> {
      if (accumulator.sum() != 0) {
        totals.append(' ').append(name).append('=').append(accumulator.sum());
      }
    });
    long hits = sum(accumulators, Counter.RDMA_BLOCKS.publicName());
    long misses = sum(accumulators, Counter.MISSED_BLOCKS.publicName());
    if (hits + misses > 0) {
      totals.append(' ').append(ExecutorCounts.HIT_PERCENT).append('=');
      totals.append(ReadCounters.hitPercent(hits, misses));
    }
    LOG.info("Shuffle blocks read by all tasks:{}", totals.length() == 0 ? " none" : totals);
  }

  private static long sum(Map<String, LongAccumulator> accumulators, String name) {
    return Objects.requireNonNull(accumulators.get(name)).sum();
  }
}
