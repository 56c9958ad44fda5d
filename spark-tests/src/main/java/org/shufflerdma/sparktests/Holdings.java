/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;

/** What an executor process holds of shuffles: on the device, in its memory, as open files. */
record Holdings(String executor, long memoryRegions, long mappings, long descriptors)
    implements Serializable {
  private static final int EXECUTORS = 2;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(90);

  /** The canary and the slab of descriptors stay as long as their executor. */
  private static final int REGIONS_AT_REST = 2;

  /** Forgets all shuffles and waits until no executor holds any. Returns whether that came. */
  static boolean awaitRest(JavaSparkContext spark) {
    long deadline = System.nanoTime() + PATIENCE_NS;
    List<Holdings> seen;
    do {
      System.gc(); // upon which Spark's cleaner removes what is no longer referred to
      seen = spark
          .parallelize(List.of(0, 1, 2, 3), 4)
          .map(task -> {
            Thread.sleep(200); // so that each executor gets some
            return here();
          })
          .collect();
      if (seen.stream().map(Holdings::executor).distinct().count() == EXECUTORS
          && seen.stream().allMatch(Holdings::isAtRest)) {
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
          SparkEnv.get().executorId(),
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
