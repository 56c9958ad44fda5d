/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.lostpeer;

import java.util.Iterator;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.spark.FetchFailed;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple2;

/**
 * A shuffle whose reducers take their blocks one after the other and work on each, so that whenever
 * an executor is lost somebody is about to read from it. {@code bin/lost-peer} goes by the lines on
 * standard output, which have the host's time in milliseconds:
 *
 * <pre>
 *   reducing TIME        some reduce tasks have ended, the others read
 *   fetch-failed TIME    the driver has heard of the first
 *   fetch-failures N     of all tasks
 *   stage-attempts N     of all stages
 *   done TIME right      or wrong
 * </pre>
 */
public final class LostPeer {
  private static final int MAPS = 16;
  private static final int REDUCES = 16;
  private static final int ROW_BYTES = 64 << 10;
  /** The rows of each map for each reduce task: blocks of 1 MiB, 256 MiB in all. */
  private static final int ROWS = 16;
  /** The pause of a reduce task after each row; all rows of a block take a quarter of a second. */
  private static final int WORK_MS = 16;

  private static final long LISTENERS_MS = 30_000;

  private LostPeer() {}

  public static void main(String[] arguments) throws Exception {
    SparkConf conf = new SparkConf().setAppName("lost peer");
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      Watch watch = new Watch();
      context.sc().addSparkListener(watch);
      long sum = context
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(LostPeer::rowsOf)
          .partitionBy(new HashPartitioner(REDUCES))
          .mapPartitions(LostPeer::sumSlowly)
          .reduce(Long::sum);
      long doneMs = System.currentTimeMillis();
      context.sc().listenerBus().waitUntilEmpty(LISTENERS_MS);
      watch.sayCounts();
      System.out.println("done " + doneMs + (sum == expected() ? " right" : " wrong"));
    }
  }

  private static void sayTime(String what) {
    System.out.println(what + " " + System.currentTimeMillis());
  }

  private static Iterator<Tuple2<Integer, byte[]>> rowsOf(int map) {
    Random random = new Random(map);
    return Stream.iterate(0, i -> i + 1)
        .limit((long) ROWS * REDUCES)
        .map(i -> {
          byte[] row = new byte[ROW_BYTES];
          random.nextBytes(row);
          return new Tuple2<>(i % REDUCES, row);
        })
        .iterator();
  }

  private static Iterator<Long> sumSlowly(Iterator<Tuple2<Integer, byte[]>> rows)
      throws InterruptedException {
    long sum = 0;
    while (rows.hasNext()) {
      sum += checksum(rows.next()._2());
      TimeUnit.MILLISECONDS.sleep(WORK_MS);
    }
    return Stream.of(sum).iterator();
  }

  private static long expected() {
    long sum = 0;
    for (int map = 0; map < MAPS; map++) {
      for (Iterator<Tuple2<Integer, byte[]>> rows = rowsOf(map); rows.hasNext(); ) {
        sum += checksum(rows.next()._2());
      }
    }
    return sum;
  }

  private static long checksum(byte[] row) {
    CRC32C crc = new CRC32C();
    crc.update(row);
    return crc.getValue();
  }

  private static final class Watch extends SparkListener {
    /** The number of ended reduce tasks after which both executors have read. */
    private static final int ENOUGH = 3;

    private int ended;
    private int failures;
    private int stages;

    @Override
    public synchronized void onStageSubmitted(SparkListenerStageSubmitted submitted) {
      stages++;
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
      if (end.reason() instanceof FetchFailed) {
        if (++failures == 1) {
          sayTime("fetch-failed");
        }
      } else if (end.taskType().equals("ResultTask") && ++ended == ENOUGH) {
        sayTime("reducing");
      }
    }

    synchronized void sayCounts() {
      System.out.println("fetch-failures " + failures);
      System.out.println("stage-attempts " + stages);
    }
  }
}
