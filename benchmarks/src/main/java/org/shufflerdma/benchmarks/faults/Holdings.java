/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import com.codahale.metrics.Gauge;
import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.JavaSerializer;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.rdd.RDD;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.SoftCounters;
import org.shufflerdma.verbs.Verbs;
import scala.Function1;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The resources that one executor process holds, as the device counts them, as the plugin counts
 * them, and as /proc shows them.
 *
 * @param descriptors open files by their targets, with numbers left out
 */
@DefaultSerializer(JavaSerializer.class) // Kryo 4 cannot write records by itself
record Holdings(
    String executor,
    long regions,
    long queuePairs,
    long completionQueues,
    long protectionDomains,
    long leasedBytes,
    long zombieBytes,
    long registeredBytes,
    long outputBytes,
    int shuffleMappings,
    Map<String, Integer> descriptors,
    long directBytes)
    implements Serializable {
  private static final String SHUFFLE_FILE = "/shuffle_";

  /** The regions of an executor at rest: the canary and a chunk of descriptors. */
  private static final int REGIONS_AT_REST = 2;

  /**
   * Returns what each executor holds. It runs in the tasks of a barrier stage, which fill all slots
   * at once.
   *
   * @param slots how many tasks run at a time
   * @param collected whether to run a garbage collection first, so that direct memory counts what
   *     is in use
   */
  static List<Holdings> ofExecutors(JavaSparkContext spark, int slots, boolean collected) {
    List<Integer> tasks = IntStream.range(0, slots).boxed().toList();
    ClassTag<Holdings> tag = ClassTag$.MODULE$.apply(Holdings.class);
    RDD<Holdings> all = spark
        .parallelize(tasks, slots)
        .rdd()
        .barrier()
        .mapPartitions(
            (Function1<Iterator<Integer>, Iterator<Holdings>> & Serializable)
                task -> CollectionConverters.asScala(List.of(here(collected)).iterator()),
            false,
            tag);
    Map<String, Holdings> byExecutor = new TreeMap<>();
    for (Holdings one : (Holdings[]) all.collect()) {
      byExecutor.put(one.executor, one);
    }
    return List.copyOf(byExecutor.values());
  }

  /** Runs one at a time, since it opens files and uses direct memory for a moment. */
  private static synchronized Holdings here(boolean collected) {
    if (collected) {
      System.gc();
    }
    SoftCounters device = device();
    return new Holdings(
        SparkEnv.get().executorId(),
        device.mrLive(),
        device.qpLive(),
        device.cqLive(),
        device.pdLive(),
        gauge("shuffle.rdma.pool.leasedBytes"),
        gauge("shuffle.rdma.pool.zombieBytes"),
        gauge("shuffle.rdma.registeredBytes"),
        gauge("shuffle.rdma.outputs.registeredBytes"),
        countShuffleMappings(),
        openFiles(),
        directBufferBytes());
  }

  private static SoftCounters device() {
    try {
      return Verbs.open(Provider.SOFT).softCounters();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long gauge(String name) {
    Source source = SparkEnv.get()
        .metricsSystem()
        .getSourcesByName("shuffleRdma")
        .headOption()
        .getOrElse(() -> {
          throw new IllegalStateException("the plugin has not started on this executor");
        });
    Gauge<?> gauge = source.metricRegistry().getGauges().get(name);
    if (gauge == null) {
      throw new IllegalStateException("RDMA is off on this executor: no gauge " + name);
    }
    return (Long) gauge.getValue();
  }

  private static int countShuffleMappings() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
      return Math.toIntExact(lines.filter(line -> line.contains(SHUFFLE_FILE)).count());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Lists the open files without jars and TCP connections, which Spark opens when it first needs
   * them.
   */
  private static Map<String, Integer> openFiles() {
    Map<String, Integer> kinds = new TreeMap<>();
    try (Stream<Path> links = Files.list(Path.of("/proc/self/fd"))) {
      Set<String> tcp = tcpSockets();
      links.forEach(link -> {
        String target = targetOf(link);
        if (!target.isEmpty() && !target.endsWith(".jar") && !tcp.contains(target)) {
          kinds.merge(target.replaceAll("[0-9]+", "#"), 1, Integer::sum);
        }
      });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return kinds;
  }

  /** Returns the target of a descriptor; empty if it was closed meanwhile. */
  private static String targetOf(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      return "";
    }
  }

  private static Set<String> tcpSockets() throws IOException {
    Set<String> sockets = new HashSet<>();
    for (String table : List.of("tcp", "tcp6")) {
      for (String line : Files.readAllLines(Path.of("/proc/self/net", table))) {
        sockets.add("socket:[" + line.strip().split(" +", -1)[9] + "]");
      }
    }
    return sockets;
  }

  private static long directBufferBytes() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }

  /**
   * Returns whether the executor is at rest: no map output, no fetch buffer, and no more connections than one to and one
   * from each executor, including itself, for each task that an executor runs at a time.
   *
   * @param slots how many tasks run at a time on all executors
   */
  boolean isAtRest(int slots) {
    return regions <= REGIONS_AT_REST
        && queuePairs <= 2L * slots
        && leasedBytes == 0
        && zombieBytes == 0
        && outputBytes == 0
        && shuffleMappings == 0
        && descriptors.keySet().stream().noneMatch(file -> file.contains(SHUFFLE_FILE));
  }
}
