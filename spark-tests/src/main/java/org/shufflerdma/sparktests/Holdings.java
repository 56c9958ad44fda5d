/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;
import scala.Tuple2;

/** What an executor process holds of shuffles: on the device, in its memory, as open files. */
record Holdings(long memoryRegions, long mappings, long descriptors) {
  private static final String AT_REST = "";
  private static final int EXECUTORS = 2;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(90);

  /** The canary and the slab of descriptors stay as long as their executor. */
  private static final int REGIONS_AT_REST = 2;

  /** Forgets all shuffles and waits until no executor holds any. Returns whether that came. */
  static boolean awaitRest(JavaSparkContext spark) {
    long deadline = System.nanoTime() + PATIENCE_NS;
    Map<String, String> seen;
    do {
      System.gc(); // upon which Spark's cleaner removes what is no longer referred to
      seen = spark
          .parallelize(List.of(0, 1, 2, 3), 4)
          .mapToPair(task -> {
            Thread.sleep(200); // so that each executor gets some
            Holdings holdings = here();
            return new Tuple2<>(
                SparkEnv.get().executorId(), holdings.isAtRest() ? AT_REST : holdings.toString());
          })
          .collectAsMap();
      if (seen.size() == EXECUTORS && seen.values().stream().allMatch(AT_REST::equals)) {
        return true;
      }
    } while (System.nanoTime() < deadline);
    System.out.println("still held: " + seen);
    return false;
  }

  private boolean isAtRest() {
    return memoryRegions <= REGIONS_AT_REST && mappings == 0 && descriptors == 0;
  }

  private static Holdings here() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"));
        Stream<Path> links = Files.list(Path.of("/proc/self/fd"))) {
      return new Holdings(
          Verbs.open(Provider.SOFT).softCounters().mrLive(),
          maps.filter(Holdings::isOfShuffle).count(),
          links.filter(link -> isOfShuffle(targetOf(link))).count());
    }
  }

  private static boolean isOfShuffle(String path) {
    return path.contains("/shuffle_");
  }

  private static String targetOf(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      return ""; // closed meanwhile
    }
  }
}
