/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.task.reduce.RdmaReduceShuffle;
import org.apache.hadoop.mapreduce.task.reduce.Shuffle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shuffle of a reducer ({@code mapreduce.job.reduce.shuffle.consumer.plugin.class}), which asks the node service of its host
 * for map outputs. Where that is of no use it is Hadoop's own {@link Shuffle}, and one line of the log says why.
 */
public final class RdmaShuffle<K, V> implements ShuffleConsumerPlugin<K, V> {
  /** Port of TCP at which the node services of all hosts answer. */
  public static final String PORT_KEY = "mapreduce.shuffle.rdma.service.port";

  public static final int DEFAULT_PORT = 7347;

  private static final Logger LOG = LoggerFactory.getLogger(RdmaShuffle.class);

  private @Nullable ShuffleConsumerPlugin<K, V> shuffle;

  @Override
  public void init(Context<K, V> context) {
    ShuffleConsumerPlugin<K, V> chosen = null;
    try {
      String obstacle = obstacle(context.getJobConf(), context.getLocalMapFiles() != null);
      JobGrant grant = obstacle == null
          ? JobGrant.of(context.getJobConf(), context.getReduceTask().getShuffleSecret())
          : null;
      if (grant != null) {
        grant.leave(); // there need not have been a map task on this host
        ShuffleConsumerPlugin<K, V> ours = new RdmaReduceShuffle<>(
            grant, portOf(context.getJobConf()), new JobSize(context.getJobConf()));
        ours.init(context);
        chosen = ours;
      } else {
        LOG.info(
            "Map outputs travel over HTTP: {}",
            obstacle == null ? "this is no container of YARN" : obstacle);
      }
    } catch (IOException | RuntimeException | LinkageError e) {
      LOG.warn("Map outputs travel over HTTP: {}", e.toString());
    }
    if (chosen == null) {
      chosen = new Shuffle<>();
      chosen.init(context);
    }
    shuffle = chosen;
  }

  /**
   * Why Hadoop's own shuffle is used; null if it is not.
   *
   * @param hasLocalMaps whether the maps have run in this process
   */
  static @Nullable String obstacle(JobConf conf, boolean hasLocalMaps) {
    if (hasLocalMaps) {
      return "the maps have run in this process";
    }
    if (isEncryptedOnTheWay(conf) && !CryptoUtils.isEncryptedSpillEnabled(conf)) {
      return MRConfig.SHUFFLE_SSL_ENABLED_KEY
          + " is set, and RDMA does not encrypt: set "
          + "mapreduce.job.encrypted-intermediate-data to have map outputs encrypted";
    }
    return null;
  }

  private static boolean isEncryptedOnTheWay(Configuration conf) {
    return conf.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT);
  }

  static int portOf(Configuration conf) {
    int port = conf.getInt(PORT_KEY, DEFAULT_PORT);
    if (port < 1 || port > 65535) {
      throw new IllegalArgumentException(
          PORT_KEY + "=" + port + ": give the service.port of the node services, 1 to 65535");
    }
    return port;
  }

  @Override
  public RawKeyValueIterator run() throws IOException, InterruptedException {
    return chosen().run();
  }

  @Override
  public void close() {
    chosen().close();
  }

  private ShuffleConsumerPlugin<K, V> chosen() {
    ShuffleConsumerPlugin<K, V> made = shuffle;
    if (made == null) {
      throw new IllegalStateException("init has not been called");
    }
    return made;
  }
}
