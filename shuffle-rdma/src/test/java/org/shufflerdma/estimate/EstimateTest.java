/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class EstimateTest {
  private static final long MIB = 1 << 20;

  @TempDir
  private Path folder;

  private record Ran(int status, String out, String err) {}

  private static Ran run(Object... args) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status = Estimate.run(
        Arrays.stream(args).map(Object::toString).toArray(String[]::new),
        new PrintStream(out, true, UTF_8),
        new PrintStream(err, true, UTF_8));
    return new Ran(status, out.toString(UTF_8), err.toString(UTF_8));
  }

  private Path file(String name, byte[] bytes) throws IOException {
    return Files.write(folder.resolve(name), bytes);
  }

  private static WrittenLog sql(Map<String, String> properties) {
    return WrittenLog.ofShuffle(properties, "ShuffledRowRDD", "Exchange", 100)
        .task(0, 0, WrittenLog.written(600 * MIB, 50_000))
        .task(0, 1, WrittenLog.written(600 * MIB, 50_000))
        .task(1, 0, WrittenLog.read(100, 300 * MIB, 4000));
  }

  private Ran estimate(WrittenLog log) throws IOException {
    return run(file("log", log.bytes()));
  }

  @Test
  void partsOfTheGainAreNamed() throws IOException {
    assertThat(estimate(sql(Map.of()).end()))
        .isEqualTo(run(folder.resolve("log")))
        .satisfies(ran -> assertThat(ran.status()).isZero())
        .satisfies(ran -> assertThat(ran.out())
            .contains(
                "VERDICT: At most ", "\"a job\": Spark 4.1.3, 2 executors on 2 hosts, 3 tasks")
            .containsPattern(
                "\n +1 +10\\.0 s +100 +300 MiB +3\\.0 MiB +0 +0 B +4\\.0 s +40 %.*stage 1\n")
            .doesNotContain("NOTE"));
  }

  @Test
  void aShuffleWithoutWaitsOfFewLargeBlocksHasNothingToGain() throws IOException {
    WrittenLog log = WrittenLog.ofShuffle(Map.of(), "ShuffledRDD", "reduceByKey", 2)
        .task(0, 0, WrittenLog.written(5 * MIB, 100))
        .task(1, 0, WrittenLog.read(4, 10 * MIB, 30))
        .end();
    assertThat(estimate(log).out())
        .contains(
            "VERDICT: Nothing to gain here: at most ",
            "for 4 remote blocks of 2.5 MiB",
            "leaves it");
  }

  @Test
  void oneProcessAndAnApplicationWithThePluginGetNoEstimate() throws IOException {
    assertThat(estimate(sql(Map.of("spark.master", "local[4]")).end()).out())
        .contains(
            "VERDICT: Nothing to gain here: the application ran in one process (spark.master=local[4])")
        .doesNotContain("saves at most");
    assertThat(
            estimate(sql(Map.of("spark.shuffle.manager", "RdmaShuffleManager")).end())
                .out())
        .contains("VERDICT: No estimate: the application ran with shuffle-rdma already");
  }

  @Test
  void theOverheadOfYarnBoundsWhatIsRegistered() throws IOException {
    // Half of 1 GiB, less an eighth for staging and a quarter for fetch buffers: 320 of some 600
    // MiB.
    assertThat(estimate(sql(Map.of("spark.master", "yarn", "spark.executor.memoryOverhead", "1g"))
                .end())
            .out())
        .contains("320 MiB registered", "53 % of their bytes would be registered and 47 % staged")
        .contains("Set spark.executor.memoryOverhead=1984m so that all");
    assertThat(
            estimate(sql(Map.of("spark.master", "yarn", "spark.executor.memoryOverhead", "1984m"))
                    .end())
                .out())
        .contains("100 % of their bytes would be registered", "No more overhead is needed");
  }

  @ParameterizedTest
  @CsvSource({
    // rdd, scope, partitions, serializer, Spark's writer, the plugin's
    "ShuffledRDD, groupByKey, 200, x.JavaSerializer, files, takes it",
    "ShuffledRDD, groupByKey, 201, x.JavaSerializer, unknown, may take it",
    "ShuffledRDD, groupByKey, 201, x.KryoSerializer, serialized, takes it",
    "ShuffledRDD, reduceByKey, 8, x.KryoSerializer, sort, leaves it",
    "ShuffledRDD, ofALibrary, 8, x.KryoSerializer, unknown, may take it",
    "CoGroupedRDD, join, 8, x.JavaSerializer, files, takes it",
  })
  void theWriterFollowsFromTheStageThatReads(
      String rdd, String scope, int partitions, String serializer, String sparks, String plugins)
      throws IOException {
    WrittenLog log = WrittenLog.ofShuffle(
            Map.of("spark.serializer", serializer), rdd, scope, partitions)
        .task(0, 0, WrittenLog.written(5 * MIB, 100))
        .end();
    assertThat(estimate(log).out())
        .containsPattern(" %d +%s +%s ".formatted(partitions, sparks, plugins));
  }

  @Test
  void sortsOfTheRddApiAreSeenAndCountForTheStageBeforeThem() throws IOException {
    WrittenLog log = WrittenLog.ofShuffle(Map.of(), "ShuffledRDD", "sortByKey", 8)
        .task(0, 0, WrittenLog.written(5 * MIB, 100))
        .task(1, 0, WrittenLog.read(4, 10 * MIB, 0))
        .end();
    assertThat(estimate(log).out()).contains("RDD keys", "50 % by the sorter");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zstd", "lz4", "snappy", "lzf"})
  void whatSparkCompressesIsReadAndWhatIsCutAsFarAsItGoes(String codec) throws IOException {
    WrittenLog log = sql(Map.of());
    for (int i = 0; i < 20_000; i++) {
      log.task(1, i % 2, WrittenLog.read(i, 1000L * i, i % 7));
    }
    byte[] bytes = log.end().bytes();
    byte[] packed = compressed(codec, bytes);
    assertThat(packed.length).isLessThan(bytes.length);
    assertThat(run(file("log", packed))).isEqualTo(run(file("log", bytes)));
    Ran ofCut = run(file("log", Arrays.copyOf(packed, packed.length / 2)));
    assertThat(ofCut.status()).isZero();
    assertThat(ofCut.out())
        .contains("VERDICT: At most", "NOTE: The log has no end of the application");
    for (int i = packed.length / 3; i < packed.length / 3 + 200; i++) {
      packed[i] ^= (byte) (37 * i);
    }
    assertThat(run(file("log", packed)).status()).isZero();
  }

  private static byte[] compressed(String codec, byte[] bytes) throws IOException {
    CompressionCodec sparks = CompressionCodec$.MODULE$.createCodec(new SparkConf(false), codec);
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream out = sparks.compressedOutputStream(packed)) {
      out.write(bytes);
    }
    return packed.toByteArray();
  }

  @Test
  void aRollingLogBeginsWithItsCompactedFile() throws IOException {
    Path rolling = Files.createDirectory(folder.resolve("eventlog_v2_app-1"));
    Files.write(rolling.resolve("events_1_app-1"), "dropped".getBytes(UTF_8));
    Files.write(rolling.resolve("events_2_app-1"), "dropped, too".getBytes(UTF_8));
    Files.write(rolling.resolve("events_2_app-1.compact"), sql(Map.of()).bytes());
    Files.write(rolling.resolve("events_10_app-1"), new WrittenLog().end().bytes());
    Files.write(
        rolling.resolve("events_9_app-1"),
        new WrittenLog().task(1, 0, WrittenLog.read(1, 1, 1)).bytes());
    Files.write(rolling.resolve("appstatus_app-1"), new byte[0]);
    assertThat(run(rolling).out())
        .contains("4 tasks", "NOTE: Spark has compacted the log")
        .doesNotContain("ignored", "no end");
  }

  @Test
  void aLineThatIsCutIsToldApartFromOneThatIsWrong() throws IOException {
    byte[] bytes = sql(Map.of()).bytes();
    assertThat(run(file("log", Arrays.copyOf(bytes, bytes.length - 9))).out())
        .contains("2 tasks", "NOTE: The log ends within an event.")
        .doesNotContain("ignored");
  }

  @Test
  void hostileLinesAreCountedAndPassedOver() throws IOException {
    String task = "{'Event':'SparkListenerTaskEnd','Stage ID':1,'Task Metrics':";
    WrittenLog log = sql(Map.of())
        .line("no JSON")
        .line("[1]")
        .line("{'Event':7}")
        .line(task + "[]}")
        .line(task + "{'Executor Run Time':-1}}")
        .line(task + "{'Executor Run Time':1e9}}")
        .line(task + "{'Executor Run Time':9999999999999999999999999999999999}}")
        .line(task + "{'Executor Run Time':9007199254740993}}")
        .line(task + "{'Shuffle Read Metrics':{'Fetch Wait Time':'1'}}}")
        .line(task + "{'x':" + "[".repeat(100_000) + "]".repeat(100_000) + "}}")
        .line("{'Event':'SparkListenerTaskEnd','Stage ID':{}}")
        .line("{'Event':'SparkListenerStageSubmitted','Stage Info':{'Stage ID':1,'RDD Info':[[]]}}")
        .line("{'Event':'of another Spark','Stage ID':1}")
        .line(task + "{'x':'" + "x".repeat(17 << 20) + "'}}")
        .end();
    Ran ran = estimate(log);
    assertThat(ran.status()).isZero();
    assertThat(ran.out())
        .contains(
            "3 tasks",
            "NOTE: 1 event of more than 16 MiB not read",
            "NOTE: 12 of 25 lines were ignored");
  }

  @Test
  void idsWithoutEndTakeBoundedMemory() throws IOException {
    WrittenLog log = sql(Map.of());
    for (int i = 2; i < 30_000; i++) {
      log.task(i, i, WrittenLog.read(1L << 52, 1L << 52, 1L << 52));
    }
    assertThat(estimate(log.end()).out()).contains("20,001 tasks", "NOTE: 10,000 of 30,009 lines");
  }

  @Test
  void whatIsNoEventLogIsRefused() throws IOException {
    Map<Path, String> refused = Map.of(
        folder,
        "this folder has no files events_1_",
        folder.resolve("none"),
        "there is no such file",
        file("jar", new byte[] {'P', 'K', 3, 4}),
        "this is no event log",
        file("gz", new byte[] {0x1f, (byte) 0x8b, 8}),
        "gunzip it first",
        file("empty", new byte[0]),
        "no event of Spark is in it",
        file("text", "{}\n{\"a\":1}\n".getBytes(UTF_8)),
        "no event of Spark is in it",
        file("lz4", "LZ4Block and something else".getBytes(UTF_8)),
        "no event of Spark is in it",
        file("bomb", compressed("zstd", new byte[300 << 20])),
        "expands more than 1000 times");
    refused.forEach(
        (path, message) -> assertThat(assertDoesRun(path).err()).contains(path + ": ", message));
    assertThat(assertDoesRun(Path.of("hdfs:/nn/log")).err()).isNotEmpty();
    assertThat(run("hdfs://nn/log").err()).contains("copy the log to this host first");
  }

  private static Ran assertDoesRun(Path path) {
    try {
      Ran ran = run(path);
      assertThat(ran.status()).isEqualTo(2);
      return ran;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void wrongArgumentsAreRefusedWithARemedy() throws IOException {
    assertThat(run()).isEqualTo(new Ran(2, "", run().err()));
    assertThat(run().err()).contains("no event log is named: give files");
    assertThat(run("--jason", "x").err()).contains("unknown option '--jason': give event logs");
    assertThat(run("log", "--json").err()).contains("--json needs the name of one file");
    assertThat(run("--help")).satisfies(ran -> assertThat(ran.out()).startsWith("usage: "));
    Path log = file("log", sql(Map.of()).bytes());
    assertThat(run("--json", folder.resolve("no/such"), log).status()).isEqualTo(1);
  }
}
