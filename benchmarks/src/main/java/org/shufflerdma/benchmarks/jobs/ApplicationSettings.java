/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.File;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.launcher.JavaModuleOptions;

/** What the figures of an application depend on, beside the machine and the commit. */
public final class ApplicationSettings {
  /** Names and places of one application, which its figures do not depend on. */
  private static final Pattern LEFT_OUT = Pattern.compile(
      "spark\\.(app\\..*|jars|repl\\..*|.*\\.extraClassPath|driver\\.(host|port|bindAddress)"
          + "|executor\\.id|hadoop\\..*|submit\\..*|sql\\.warehouse\\.dir)");

  /** Spark's own defaults of what matters. */
  private static final Map<String, String> DEFAULTS = Map.of(
      "spark.serializer", "org.apache.spark.serializer.JavaSerializer",
      "spark.io.compression.codec", "lz4",
      "spark.sql.autoBroadcastJoinThreshold", "10MB",
      "spark.sql.shuffle.partitions", "200",
      "spark.sql.adaptive.enabled", "true");

  private ApplicationSettings() {}

  /** Asks an executor, too: not before what is measured of a new application. */
  public static Map<String, String> of(JavaSparkContext spark) throws IOException {
    Map<String, String> settings = new TreeMap<>(DEFAULTS);
    for (var each : spark.getConf().getAll()) {
      String value = withoutModules(each._2());
      if (!value.isEmpty() && !LEFT_OUT.matcher(each._1()).matches()) {
        settings.put(each._1(), value);
      }
    }
    // Utils.getConfiguredLocalDirs would tell it, but takes another type of configuration since
    // Spark 4.1.
    File blocks = SparkEnv.get().blockManager().diskBlockManager().localDirs()[0];
    Path local = Objects.requireNonNull(blocks.toPath().toAbsolutePath().getParent());
    settings.put("folder of shuffle files", String.valueOf(local.getFileName()));
    settings.put("its file system", fileSystem(local));
    settings.put(
        "executors' collector",
        spark.parallelize(List.of(0), 1).map(task -> collector()).first());
    return settings;
  }

  /** Leaves out the options that Spark adds to those of every JVM. */
  private static String withoutModules(String value) {
    return value
        .replace(JavaModuleOptions.defaultModuleOptions(), "")
        .replace("-Djava.net.preferIPv6Addresses=false", "")
        .strip();
  }

  private static String collector() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .map(GarbageCollectorMXBean::getName)
        .collect(Collectors.joining(", "));
  }

  /** Whether ext4 has a journal decides how it treats the inodes of deleted files. */
  private static String fileSystem(Path folder) throws IOException {
    FileStore store = Files.getFileStore(Files.createDirectories(folder));
    if (!store.type().equals("ext4")) {
      return store.type();
    }
    Path device = Path.of(store.name()).toRealPath();
    Path journal = Path.of("/proc/fs/jbd2", device.getFileName() + "-8");
    return Files.exists(journal) ? "ext4 with a journal" : "ext4 without a journal";
  }
}
