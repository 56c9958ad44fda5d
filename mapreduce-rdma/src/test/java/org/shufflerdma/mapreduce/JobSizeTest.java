/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JobSizeTest {
  private static final int MAPS = 10;

  @TempDir
  Path first;

  @TempDir
  Path second;

  private final JobConf conf = new JobConf(false);

  @BeforeEach
  void describeTheJob() {
    conf.set("mapreduce.cluster.local.dir", first + "," + second);
    conf.setInt("mapreduce.job.maps", MAPS);
    conf.set("mapreduce.shuffle.rdma.min.bytes", "1k");
  }

  private static void leave(Path dir, String map, String name, int bytes) throws IOException {
    Path folder = Files.createDirectories(dir.resolve("output").resolve(map));
    Files.write(folder.resolve(name), new byte[bytes]);
  }

  private static void leaveOutput(Path dir, String map, int bytes) throws IOException {
    leave(dir, map, "file.out", bytes);
    leave(dir, map, "file.out.index", 24);
  }

  @Test
  void theMeanOfTheOutputsHereStandsForAll() throws IOException {
    leaveOutput(first, "a", 100);
    leaveOutput(second, "b", 104); // 10 maps of 102 bytes
    assertThat(new JobSize(conf).isSmall()).isTrue();
    leaveOutput(second, "c", 105); // 10 of 103
    assertThat(new JobSize(conf).isSmall()).isFalse();
  }

  @Test
  void anOutputMayLieOnAnotherDiskThanItsIndex() throws IOException {
    leave(first, "a", "file.out", 100);
    leave(second, "a", "file.out.index", 24);
    assertThat(new JobSize(conf).isSmall()).isTrue();
  }

  @Test
  void outputsThatMapsStillWriteSayNothing() throws IOException {
    leave(first, "a", "file.out", 1);
    JobSize size = new JobSize(conf);
    assertThat(size.isSmall()).isFalse();
    leave(first, "a", "file.out", 10_000);
    leaveOutput(first, "b", 1);
    assertThat(size.isSmall()).isTrue();
  }

  @Test
  void anOutputIsLookedAtOnce() throws IOException {
    leaveOutput(first, "a", 100);
    JobSize size = new JobSize(conf);
    assertThat(size.isSmall()).isTrue();
    leave(first, "a", "file.out", 10_000);
    assertThat(size.isSmall()).isTrue();
    leaveOutput(first, "b", 200);
    assertThat(size.isSmall()).isFalse();
  }

  @Test
  void aJobMayTurnOutToBeLargeAndStaysSo() throws IOException {
    leaveOutput(first, "a", 1);
    JobSize size = new JobSize(conf);
    assertThat(size.isSmall()).isTrue();
    leaveOutput(first, "b", 1000);
    assertThat(size.isSmall()).isFalse();
    for (int map = 0; map < MAPS; map++) {
      leaveOutput(second, "c" + map, 0);
    }
    assertThat(size.isSmall()).isFalse();
    assertThat(new JobSize(conf).isSmall()).isTrue();
  }

  @Test
  void everyJobCanHaveRdma() throws IOException {
    conf.set("mapreduce.shuffle.rdma.min.bytes", "0");
    leaveOutput(first, "a", 0);
    assertThat(new JobSize(conf).isSmall()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"much", "-1", ""})
  void whatIsNoSizeIsNamedWithItsKeyAndWhatToGive(String value) {
    conf.set("mapreduce.shuffle.rdma.min.bytes", value);
    assertThatThrownBy(() -> new JobSize(conf))
        .hasMessageContaining("mapreduce.shuffle.rdma.min.bytes=" + value + ": give");
  }
}
