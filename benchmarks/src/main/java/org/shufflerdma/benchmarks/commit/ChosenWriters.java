/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.writer.BufferedShuffleWriter;
import org.shufflerdma.writer.MapOutputFiles;
import scala.Option;

/** Spark's shuffle of a local application, whose map outputs are written by the writer that is asked for. */
public final class ChosenWriters extends SortShuffleManager {
  /** Writers of map outputs of SQL. */
  enum Writer {
    /** The one that Spark takes. */
    STOCK,
    /** Spark's writer of serialized records. */
    SERIALIZED,
    /** The plugin's. */
    RDMA;

    /** The name of the side in results. */
    String side() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final List<Cost> tasks = new CopyOnWriteArrayList<>();

  private volatile Writer writer = Writer.STOCK;
  private @Nullable MapOutputFiles files;

  public ChosenWriters(SparkConf conf) {
    super(conf);
  }

  /** Sets the writer of shuffles that are registered later. */
  void setWriter(Writer value) {
    writer = value;
  }

  /** Returns what each task has spent in its writer since the last call, in the order in which they ended. */
  List<Cost> takeTasks() {
    List<Cost> taken = List.copyOf(tasks);
    tasks.clear();
    return taken;
  }

  private synchronized MapOutputFiles files() {
    if (files == null) {
      files = new MapOutputFiles(SparkEnv.get(), shuffleBlockResolver());
    }
    return files;
  }

  @Override
  public <K, V, C> ShuffleHandle registerShuffle(
      int shuffleId, ShuffleDependency<K, V, C> dependency) {
    if (writer != Writer.SERIALIZED) {
      return super.registerShuffle(shuffleId, dependency);
    }
    @SuppressWarnings("unchecked") // nothing is combined, so C is V
    ShuffleDependency<K, V, V> uncombined = (ShuffleDependency<K, V, V>) dependency;
    return new SerializedShuffleHandle<>(shuffleId, uncombined);
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> timed = super.getWriter(handle, mapId, context, metrics);
    if (writer == Writer.RDMA) {
      @SuppressWarnings("unchecked") // all of Spark's handles are such
      BaseShuffleHandle<K, V, ?> known = (BaseShuffleHandle<K, V, ?>) handle;
      timed = new BufferedShuffleWriter<>(files(), known.dependency(), mapId, context, metrics);
    }
    return new TimedWriter<>(timed) {
      @Override
      public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = super.stop(success);
        tasks.add(spent());
        return status;
      }
    };
  }
}
