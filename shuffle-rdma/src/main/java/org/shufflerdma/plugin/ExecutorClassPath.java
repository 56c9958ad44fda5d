/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether the executors of Spark 3.5 will find the plugin, as far as the driver can tell. They
 * create their shuffle manager in {@code SparkEnv.create}, before they fetch the jars of {@code --jars};
 * an executor that cannot ends, and Spark starts another, often without end.
 */
final class ExecutorClassPath {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private static final String EXTRA = "spark.executor.extraClassPath";
  private static final String DRIVER_EXTRA = "spark.driver.extraClassPath";
  private static final String GROUP = "org.shufflerdma_";

  private ExecutorClassPath() {}

  /**
   * Returns why executors cannot find the plugin, or null if they can or may; the log says so if it is
   * not certain. Call this on the driver.
   */
  static @Nullable String reasonAgainstRdma(String sparkVersion, SparkConf conf) {
    if (!sparkVersion.startsWith("3.5.")) {
      return null;
    }
    @Nullable Path jar = jarOfTheDriverAlone(conf.get(DRIVER_EXTRA, ""));
    if (jar == null) {
      return null;
    }
    Finding finding = judge(
        key -> conf.get(key, ""),
        jar,
        Objects.requireNonNullElse(System.getenv("SPARK_DIST_CLASSPATH"), ""));
    if (finding.verdict == Verdict.DOUBTFUL) {
      LOG.warn("{}", finding.text);
    }
    return finding.verdict == Verdict.CANNOT ? finding.text : null;
  }

  /**
   * The plugin's jar if the driver has it from {@code --jars} or its own extra class path; null if
   * it lies beside Spark's jars, or on a class path that executors may well have too.
   */
  private static @Nullable Path jarOfTheDriverAlone(String driverExtraClassPath) {
    Path jar = jarOf(ExecutorClassPath.class);
    ClassLoader sparks = SparkConf.class.getClassLoader();
    if (ExecutorClassPath.class.getClassLoader() != sparks) {
      return sparks.getResource("RdmaShuffleManager.class") == null ? jar : null;
    }
    boolean besideSpark = Objects.equals(jar.getParent(), jarOf(SparkConf.class).getParent());
    return !besideSpark && names(driverExtraClassPath, jar) ? jar : null;
  }

  private static Path jarOf(Class<?> type) {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath());
  }

  enum Verdict {
    GOOD,
    DOUBTFUL,
    CANNOT
  }

  record Finding(Verdict verdict, String text) {}

  /**
   * @param settings Spark's, empty where not set
   * @param jar the plugin, which the driver alone has been given
   * @param distClassPath what the driver's environment adds to every class path of Spark
   */
  static Finding judge(UnaryOperator<String> settings, Path jar, String distClassPath) {
    String master = settings.apply("spark.master");
    String extra = settings.apply(EXTRA);
    boolean inOneProcess = master.startsWith("local") && !master.startsWith("local-cluster");
    boolean otherMeans = Stream.of(
            distClassPath,
            settings.apply("spark.executorEnv.SPARK_DIST_CLASSPATH"),
            settings.apply("spark.yarn.user.classpath.first"))
        .anyMatch(value -> !value.isBlank());
    if (inOneProcess || otherMeans || mayHold(extra, jar)) {
      return new Finding(Verdict.GOOD, "");
    }
    String path = master.startsWith("yarn")
        ? "%s=%s, its name alone, since YARN puts the jars of --jars into the working folder"
            .formatted(EXTRA, jar.getFileName())
        : "%s to the path of %s on the executors' hosts (here it is %s)"
            .formatted(EXTRA, jar.getFileName(), jar);
    String remedy = "Executors of Spark 3.5 make their shuffle manager before they fetch the jars"
        + " of --jars. Set " + path + ", or put it into the jars folder of Spark on every host.";
    if (!extra.isBlank()) {
      return new Finding(
          Verdict.DOUBTFUL,
          "Executors may not find the shuffle manager: %s=%s does not name %s. %s"
              .formatted(EXTRA, extra, jar.getFileName(), remedy));
    }
    return sparkOfExecutorsIsKnown(master, settings, jar)
        ? new Finding(
            Verdict.CANNOT,
            "executors would not find the shuffle manager: %s is not set. %s"
                .formatted(EXTRA, remedy))
        : new Finding(
            Verdict.DOUBTFUL,
            "Executors may not find the shuffle manager: %s is not set. %s"
                .formatted(EXTRA, remedy));
  }

  /**
   * Returns whether an entry is the jar, or may contain it: a wildcard, a folder, a jar of another
   * name.
   */
  private static boolean mayHold(String classPath, Path jar) {
    return names(classPath, jar)
        || Arrays.stream(classPath.split(":")).anyMatch(entry -> entry.endsWith("*"));
  }

  private static boolean names(String classPath, Path jar) {
    return Arrays.stream(classPath.split(":"))
        .map(Path::of)
        .anyMatch(entry -> jar.getFileName().equals(entry.getFileName())
            || (entry.getParent() != null && plainName(jar).equals(plainName(entry))));
  }

  /**
   * Returns the name of the jar in a Maven repository. {@code --packages} adds the group to its copy, which
   * is what a working folder has; elsewhere on a host the jar may have either name.
   */
  private static String plainName(Path jar) {
    String name = String.valueOf(jar.getFileName());
    return name.startsWith(GROUP) ? name.substring(GROUP.length()) : name;
  }

  /** Not where a container image, or an archive of the user's, brings Spark to the executors. */
  private static boolean sparkOfExecutorsIsKnown(
      String master, UnaryOperator<String> settings, Path jar) {
    return master.startsWith("local-cluster")
        || master.startsWith("spark://")
        || (master.startsWith("yarn")
            && settings.apply("spark.yarn.archive").isBlank()
            && lieOnHostsWithout(jar, settings.apply("spark.yarn.jars")));
  }

  /** Of {@code local:} paths, which every host has and so the driver's; true if there are none. */
  private static boolean lieOnHostsWithout(Path jar, String jars) {
    return Arrays.stream(jars.split(",")).filter(entry -> !entry.isBlank()).allMatch(entry -> {
      Path path = Path.of(entry.substring(entry.indexOf(':') + 1));
      return entry.startsWith("local:")
          && Files.isDirectory(path.resolveSibling(""))
          && !Files.exists(path.resolveSibling(jar.getFileName()));
    });
  }
}
