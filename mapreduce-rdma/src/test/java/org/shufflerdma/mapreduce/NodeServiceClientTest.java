/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the node service of its host brings a reducer, and what it refuses. */
@Timeout(180)
class NodeServiceClientTest {
  private static final int[] LENGTHS = {0, 300, 70_000, 2_000_000};

  @TempDir
  Path directory;

  private Scene scene;
  private JobOutputs job;

  @BeforeEach
  void start() throws Exception {
    scene = new Scene(directory, 64 << 20);
    job = scene.job("alice");
  }

  @AfterEach
  void stop() throws Exception {
    scene.close();
  }

  private NodeServiceClient connect(JobGrant grant) throws IOException {
    return scene.connect(grant);
  }

  @Test
  void outputsOfAJobAreReadIntoMemoryThatItsReducersCanRead() throws Exception {
    job.grant().leave();
    List<String> maps = new ArrayList<>();
    List<byte[]> outputs = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      maps.add("attempt_1700000000000_0001_m_%06d_0".formatted(i));
      outputs.add(job.write(maps.get(i), LENGTHS));
    }
    try (NodeServiceClient client = connect(job.grant())) {
      int start = 0;
      for (int reduce = 0; reduce < LENGTHS.length; reduce++) {
        Map<Integer, Object> come = Scene.fetch(client, reduce, maps);
        for (int i = 0; i < maps.size(); i++) {
          assertThat(come.get(i))
              .as("map %d, partition %d", i, reduce)
              .isEqualTo(Arrays.copyOfRange(outputs.get(i), start, start + LENGTHS[reduce]));
        }
        start += LENGTHS[reduce];
      }
    }
  }

  @Test
  void whatCannotBeReadIsToBeFetchedByHttpAndKeepsNothingElse() throws Exception {
    job.grant().leave();
    byte[] whole = job.write("attempt_1_m_1_0", 500);
    job.write("attempt_1_m_2_0", 500);
    Files.write(job.folder().resolve("output/attempt_1_m_2_0/file.out"), new byte[400]);
    try (NodeServiceClient client = connect(job.grant())) {
      Map<Integer, Object> come =
          Scene.fetch(client, 0, List.of("attempt_1_m_3_0", "attempt_1_m_1_0", "attempt_1_m_2_0"));
      assertThat(come.get(0)).isEqualTo("STAGING");
      assertThat(come.get(1)).isEqualTo(whole);
      assertThat(come.get(2)).isEqualTo("STAGING");
      assertThat(Scene.fetch(client, 0, List.of("../alice"))).containsValue("NAME");
    }
  }

  @Test
  void nobodyIsServedWithoutTheGrantOfHisOwnJob() throws Exception {
    assertThatThrownBy(() -> connect(job.grant())).isInstanceOf(IOException.class);
    job.grant().leave();
    JobOutputs other =
        new JobOutputs(directory.resolve("local"), "mallory", Scene.APPLICATION, "another secret");
    assertThatThrownBy(() -> connect(other.grant())).isInstanceOf(IOException.class);
    other.grant().leave();
    job.write("attempt_1_m_1_0", 500);
    try (NodeServiceClient client = connect(other.grant())) { // of an application of the same name
      assertThat(Scene.fetch(client, 0, List.of("attempt_1_m_1_0"))).containsValue("STAGING");
    }
    JobOutputs forged =
        new JobOutputs(directory.resolve("elsewhere"), "alice", Scene.APPLICATION, "a guess");
    assertThatThrownBy(() -> connect(forged.grant())).isInstanceOf(IOException.class);
  }
}
