/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.jspecify.annotations.Nullable;

/**
 * The program behind bin/terasort: makes TeraGen's rows, sorts them once per shuffle kind, each in
 * its own application, and lets Hadoop judge the results.
 */
public final class TeraSort {
  private static final String INPUT = "input";
  private static final Duration NO_EXECUTORS_LIMIT = Duration.ofMinutes(2);

  private final TeraSortOptions options;
  private final WorkDirectory directory;
  private final Validation validation;
  private @Nullable String inputChecksum;

  private TeraSort(TeraSortOptions options, WorkDirectory directory, Validation validation) {
    this.options = options;
    this.directory = directory;
    this.validation = validation;
  }

  public static void main(String[] arguments) throws Exception {
    TeraSortOptions options = TeraSortOptions.parse(arguments);
    Configuration hadoop = SparkHadoopUtil.get().newConfiguration(new SparkConf());
    WorkDirectory directory = WorkDirectory.open(options.directory(), hadoop);
    TeraSort teraSort = new TeraSort(options, directory, new Validation(directory, hadoop));
    // YARN takes the end of a driver by System.exit(0) for a failure.
    if (!teraSort.run()) {
      System.exit(1);
    }
  }

  private boolean run() throws Exception {
    List<SortResult> results = new ArrayList<>();
    if (options.shuffles().size() > 1) {
      // The executors of the first sort must be as new as those of the second.
      try (JavaSparkContext spark =
          new JavaSparkContext(sparkConf(options.shuffles().get(0)))) {
        makeInput(new SortJob(spark));
      }
    }
    for (ShuffleKind shuffle : options.shuffles()) {
      results.add(sortAndValidate(shuffle));
    }
    @Nullable Path json = options.json();
    if (json != null) {
      writeJson(json, results);
    }
    boolean good = true;
    for (SortResult result : results) {
      @Nullable String wrongPath = result.wrongPath();
      if (wrongPath != null) {
        Progress.say(wrongPath);
      }
      good &= result.valid() && wrongPath == null;
      System.out.println(result.line());
    }
    if (results.size() > 1) {
      Progress.say(SortResult.comparison(results));
    }
    return good;
  }

  private SortResult sortAndValidate(ShuffleKind shuffle) throws Exception {
    String output = outputName(shuffle);
    JobWatcher watcher = new JobWatcher(shuffle);
    long sortMs;
    try (JavaSparkContext spark = new JavaSparkContext(sparkConf(shuffle))) {
      spark.sc().addSparkListener(watcher);
      SortJob job = new SortJob(spark);
      makeInput(job);
      directory.clear(output);
      Progress.say("sorting with spark.shuffle.manager=" + shuffle.managerClass());
      long startNs = System.nanoTime();
      if (options.orphans() != Orphans.NONE) {
        job.sortOrphaned(
            directory.path(INPUT), directory.path(output), options.reduces(), NO_EXECUTORS_LIMIT);
      } else {
        job.sort(directory.path(INPUT), directory.path(output), options.reduces());
      }
      sortMs = Duration.ofNanos(System.nanoTime() - startNs).toMillis();
    }
    Progress.say("sorted in %.1f s; TeraValidate and TeraChecksum".formatted(sortMs / 1e3));
    if (inputChecksum == null) {
      inputChecksum = validation.checksum(INPUT);
    }
    return new SortResult(
        shuffle,
        options.orphans(),
        validation.validate(output, inputChecksum, options.records()),
        watcher.totals(),
        watcher.shuffleCounters(),
        watcher.executors(),
        watcher.stageAttempts(),
        sortMs,
        watcher.stageMs());
  }

  private String outputName(ShuffleKind shuffle) {
    boolean last = shuffle == options.shuffles().get(options.shuffles().size() - 1);
    return last ? "output" : "output-" + shuffle.label();
  }

  private void makeInput(SortJob job) throws IOException {
    if (directory.holds(INPUT, options.bytes(), options.maps())) {
      Progress.say("the input is there already: " + directory.path(INPUT));
      return;
    }
    directory.clear(INPUT);
    Progress.say("TeraGen of %d records in %d files".formatted(options.records(), options.maps()));
    job.generate(options.records(), options.maps(), directory.path(INPUT));
  }

  private SparkConf sparkConf(ShuffleKind shuffle) {
    SparkConf conf = new SparkConf()
        .setAppName("terasort " + shuffle.label())
        .set("spark.shuffle.manager", shuffle.managerClass())
        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .set("spark.kryo.registrationRequired", "true")
        .set("spark.shuffle.readHostLocalDisk", "false")
        // All executors first: one that comes late would find every map done elsewhere.
        .setIfMissing("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .setIfMissing("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s");
    if (shuffle == ShuffleKind.RDMA) {
      conf.set("spark.shuffle.rdma.device", options.device());
    }
    return conf;
  }

  private void writeJson(Path file, List<SortResult> results) throws IOException {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.putAll(results.get(results.size() - 1).json());
    json.put("maps", options.maps());
    json.put("reduces", options.reduces());
    json.put("device", options.device());
    json.put("runs", results.stream().map(SortResult::json).toList());
    ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    Files.write(file, mapper.writeValueAsBytes(json));
  }
}
