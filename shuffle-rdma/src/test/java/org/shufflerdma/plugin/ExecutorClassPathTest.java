/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shufflerdma.plugin.ExecutorClassPath.Finding;
import org.shufflerdma.plugin.ExecutorClassPath.Verdict;

class ExecutorClassPathTest {
  private static final Path JAR = Path.of("/home/me/shuffle-rdma-1.0.jar");
  private static final String EXTRA = "spark.executor.extraClassPath";

  @ParameterizedTest
  @CsvSource({
    "local-cluster[2;1;1024],",
    "spark://host:7077,",
  })
  void executorsThatGetTheJarByJarsAloneCannotHaveRdma(String master, @Nullable String setting) {
    Finding finding = judge(master, setting, "");
    assertThat(finding.verdict()).isEqualTo(Verdict.CANNOT);
    assertThat(finding.text())
        .contains(EXTRA + " is not set", "Set " + EXTRA, JAR.toString(), "jars folder of Spark");
  }

  @ParameterizedTest
  @CsvSource({"yarn,", "yarn, spark.executor.memory=2g"})
  void onYarnTheNameOfTheJarIsEnough(String master, @Nullable String setting) {
    Finding finding = judge(master, setting, "");
    assertThat(finding.verdict()).isEqualTo(Verdict.CANNOT);
    assertThat(finding.text())
        .contains(EXTRA + " is not set", "Set " + EXTRA + "=shuffle-rdma-1.0.jar,")
        .doesNotContain(JAR.toString());
  }

  @Test
  void sparksJarsOnEveryHostAreSearched(@TempDir Path spark) throws IOException {
    String setting = "spark.yarn.jars=local:" + spark + "/*";
    assertThat(judge("yarn", setting, "").verdict()).isEqualTo(Verdict.CANNOT);
    Files.createFile(spark.resolve(JAR.getFileName()));
    assertThat(judge("yarn", setting, "").verdict()).isEqualTo(Verdict.DOUBTFUL);
    assertThat(judge("yarn", "spark.yarn.jars=local:/nowhere/*", "").verdict())
        .isEqualTo(Verdict.DOUBTFUL);
  }

  @ParameterizedTest
  @CsvSource({
    "local,",
    "local[*],",
    "local[2;3],",
    "spark://host:7077, spark.executor.extraClassPath=/opt/shuffle-rdma-1.0.jar",
    "spark://host:7077, spark.executor.extraClassPath=/opt/other.jar:/opt/shuffle-rdma-1.0.jar",
    "spark://host:7077, spark.executor.extraClassPath=/opt/plugins/*",
    "spark://host:7077, spark.executorEnv.SPARK_DIST_CLASSPATH=/opt/plugins/*",
    "yarn, spark.executor.extraClassPath=shuffle-rdma-1.0.jar",
    "yarn, spark.yarn.user.classpath.first=true",
  })
  void setUpsThatWorkAreTakenInSilence(String master, @Nullable String setting) {
    assertThat(judge(master, setting, "")).isEqualTo(new Finding(Verdict.GOOD, ""));
  }

  @Test
  void theNameThatPackagesGivesTheJarMattersInWorkingFoldersOnly() {
    Path jar = Path.of("/home/me/.ivy2/jars/org.shufflerdma_shuffle-rdma-1.0.jar");
    assertThat(judgeJar("spark://host:7077", "/opt/shuffle-rdma-1.0.jar", jar))
        .isEqualTo(Verdict.GOOD);
    assertThat(judgeJar("yarn", "org.shufflerdma_shuffle-rdma-1.0.jar", jar))
        .isEqualTo(Verdict.GOOD);
    assertThat(judgeJar("yarn", "shuffle-rdma-1.0.jar", jar)).isEqualTo(Verdict.DOUBTFUL);
  }

  private static Verdict judgeJar(String master, String extraClassPath, Path jar) {
    Map<String, String> settings = Map.of("spark.master", master, EXTRA, extraClassPath);
    return ExecutorClassPath.judge(key -> settings.getOrDefault(key, ""), jar, "")
        .verdict();
  }

  @ParameterizedTest
  @CsvSource({
    "k8s://https://host,",
    "spark://host:7077, spark.executor.extraClassPath=/opt/application-with-all-it-needs.jar",
    "spark://host:7077, spark.executor.extraClassPath=/opt/classes",
  })
  void setUpsThatMayWorkAreTakenWithAWarning(String master, @Nullable String setting) {
    Finding finding = judge(master, setting, "");
    assertThat(finding.verdict()).isEqualTo(Verdict.DOUBTFUL);
    assertThat(finding.text()).contains("may not find", "Set " + EXTRA, JAR.toString());
  }

  @ParameterizedTest
  @CsvSource({"spark.yarn.archive=hdfs:/spark.zip", "spark.yarn.jars=hdfs:/spark/*"})
  void anArchiveOnYarnMayHoldTheJar(String setting) {
    Finding finding = judge("yarn", setting, "");
    assertThat(finding.verdict()).isEqualTo(Verdict.DOUBTFUL);
    assertThat(finding.text()).contains("may not find", "Set " + EXTRA + "=shuffle-rdma-1.0.jar,");
  }

  @ParameterizedTest
  @CsvSource({"spark://host:7077", "local-cluster[2;1;1024]"})
  void aClassPathFromTheEnvironmentIsTakenInSilence(String master) {
    assertThat(judge(master, null, "/opt/plugins/*").verdict()).isEqualTo(Verdict.GOOD);
  }

  private static Finding judge(String master, @Nullable String setting, String distClassPath) {
    Map<String, String> settings = new HashMap<>(Map.of("spark.master", master.replace(';', ',')));
    if (setting != null) {
      int equals = setting.indexOf('=');
      settings.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    return ExecutorClassPath.judge(key -> settings.getOrDefault(key, ""), JAR, distClassPath);
  }
}
