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
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.nodeservice.ServiceProcess;

/**
 * A node service in a process of its own, which READs outputs of a job for the reducers of its host. The host that has
 * them is the same: the service asks itself for them, as it would another one.
 */
@Timeout(180)
class NodeServiceClientTest {
  private static final int TIMEOUT_MS = 30_000;
  private static final String APPLICATION = "application_1700000000000_0001";
  private static final int[] LENGTHS = {0, 300, 70_000, 2_000_000};

  @TempDir
  Path directory;

  private Path shared;
  private ServiceProcess service;
  private JobOutputs job;

  @BeforeEach
  void start() throws Exception {
    shared = directory.resolve("shared");
    service = new ServiceProcess(
        directory,
        64 << 20,
        "service.yarnLocalDirs=" + directory.resolve("absent") + "," + directory.resolve("local"),
        "service.sharedMemory=" + shared);
    job = new JobOutputs(directory.resolve("local"), "alice", APPLICATION, "the job's secret");
  }

  @AfterEach
  void stop() throws Exception {
    service.close();
    try (var files = Files.list(shared)) {
      assertThat(files.map(file -> file.getFileName().toString())).containsExactly("lock");
    }
  }

  private NodeServiceClient connect(JobGrant grant) throws IOException {
    return NodeServiceClient.connect(grant, service.port, TIMEOUT_MS);
  }

  /** The bytes that come, and the reasons for which others do not, by the place in the list. */
  private static Map<Integer, Object> fetch(NodeServiceClient client, int reduce, List<String> maps)
      throws IOException {
    Map<Integer, Object> outcome = new TreeMap<>();
    int request = client.fetch(reduce, "127.0.0.1", maps);
    for (int i = 0; i < maps.size(); i++) {
      NodeServiceClient.Answer answer = client.next(request);
      Object come = answer.refusal() == null ? bytesOf(answer) : answer.refusal();
      assertThat(outcome.put(answer.output(), come)).isNull();
      client.release(request, answer.output());
    }
    return outcome;
  }

  private static byte[] bytesOf(NodeServiceClient.Answer answer) throws IOException {
    assertThat(answer.rawBytes()).isEqualTo(2 * answer.lengthBytes());
    byte[] file = Files.readAllBytes(Path.of(answer.file()));
    return Arrays.copyOfRange(
        file, (int) answer.offset(), (int) (answer.offset() + answer.lengthBytes()));
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
        Map<Integer, Object> come = fetch(client, reduce, maps);
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
          fetch(client, 0, List.of("attempt_1_m_3_0", "attempt_1_m_1_0", "attempt_1_m_2_0"));
      assertThat(come.get(0)).isEqualTo("STAGING");
      assertThat(come.get(1)).isEqualTo(whole);
      assertThat(come.get(2)).isEqualTo("STAGING");
      assertThat(fetch(client, 0, List.of("../alice"))).containsValue("NAME");
    }
  }

  @Test
  void nobodyIsServedWithoutTheGrantOfHisOwnJob() throws Exception {
    assertThatThrownBy(() -> connect(job.grant())).isInstanceOf(IOException.class);
    job.grant().leave();
    JobOutputs other =
        new JobOutputs(directory.resolve("local"), "mallory", APPLICATION, "another secret");
    assertThatThrownBy(() -> connect(other.grant())).isInstanceOf(IOException.class);
    other.grant().leave();
    job.write("attempt_1_m_1_0", 500);
    try (NodeServiceClient client = connect(other.grant())) { // of an application of the same name
      assertThat(fetch(client, 0, List.of("attempt_1_m_1_0"))).containsValue("STAGING");
    }
    JobOutputs forged =
        new JobOutputs(directory.resolve("elsewhere"), "alice", APPLICATION, "a guess");
    assertThatThrownBy(() -> connect(forged.grant())).isInstanceOf(IOException.class);
  }
}
