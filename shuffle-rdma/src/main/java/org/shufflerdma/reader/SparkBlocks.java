/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.SystemClock;
import scala.Function2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Opens Spark's own block iterators for one reduce task, with the limits that the configuration sets.
 * Used by the task's thread alone.
 */
record SparkBlocks(TaskContext context, SparkEnv env, ShuffleReadMetricsReporter metrics) {
  @SuppressWarnings("unchecked")
  static <T> Iterator<T> none() {
    return (Iterator<T>) (Iterator<?>) scala.collection.Iterator$.MODULE$.empty();
  }

  /**
   * Opens an iterator, which begins to fetch at once.
   *
   * @param client brings the remote blocks
   * @param batches whether the blocks of neighbouring partitions are fetched as one
   */
  Iterator<Tuple2<BlockId, InputStream>> open(
      BlockStoreClient client,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
      boolean batches,
      long maxBytesInFlight) {
    if (!blocks.hasNext()) {
      return none();
    }
    SparkConf conf = env.conf();
    SerializerManager serializerManager = env.serializerManager();
    Function2<BlockId, InputStream, InputStream> unwrap = serializerManager::wrapStream;
    return new ShuffleBlockFetcherIterator(
            context,
            client,
            env.blockManager(),
            env.mapOutputTracker(),
            blocks,
            unwrap,
            maxBytesInFlight,
            (int) conf.get(package$.MODULE$.REDUCER_MAX_REQS_IN_FLIGHT()),
            (int) conf.get(package$.MODULE$.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
            (long) conf.get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
            (int) conf.get(package$.MODULE$.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
            (boolean) conf.get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT()),
            (boolean) conf.get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT_MEMORY()),
            (boolean) conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ENABLED()),
            conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ALGORITHM()),
            metrics,
            batches,
            new SystemClock())
        .toCompletionIterator();
  }
}
