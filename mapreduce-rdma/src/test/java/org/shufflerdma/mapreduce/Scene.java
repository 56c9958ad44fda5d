/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.nodeservice.ServiceProcess;

/**
 * A node service in a process of its own, which READs outputs of jobs for the reducers of its host. The host that has
 * them is the same: the service asks itself for them, as it would another one.
 */
final class Scene implements AutoCloseable {
  static final String APPLICATION = "application_1700000000000_0001";
  static final String HOST = "127.0.0.1";
  static final int TIMEOUT_MS = 30_000;

  final Path shared;
  final Path local;
  final ServiceProcess service;

  Scene(Path directory, long maxRegisteredBytes) throws Exception {
    this(directory, maxRegisteredBytes, directory.resolve("shared"));
  }

  Scene(Path directory, long maxRegisteredBytes, Path shared) throws Exception {
    this.shared = shared;
    this.local = directory.resolve("local");
    this.service =
        new ServiceProcess(directory, maxRegisteredBytes, settings(directory, local, shared));
  }

  /** @param home of the service, whose runner owns it */
  Scene(Path home, long maxRegisteredBytes, ServiceProcess.Runner runner, Path local)
      throws Exception {
    this.shared = home.resolve("shared");
    this.local = local;
    this.service =
        new ServiceProcess(home, maxRegisteredBytes, runner, settings(home, local, shared));
  }

  private static String[] settings(Path home, Path local, Path shared) {
    return new String[] {
      "service.yarnLocalDirs=" + home.resolve("absent") + "," + local,
      "service.sharedMemory=" + shared
    };
  }

  JobOutputs job(String user) throws IOException {
    return job(user, APPLICATION);
  }

  /** Without a grant. */
  JobOutputs job(String user, String application) throws IOException {
    return new JobOutputs(local, user, application, "the secret of " + user + "'s " + application);
  }

  NodeServiceClient connect(JobGrant grant) throws IOException {
    return NodeServiceClient.connect(grant, service.port, TIMEOUT_MS);
  }

  /** The bytes that come, and the reasons for which others do not, by the place in the list. */
  static Map<Integer, Object> fetch(NodeServiceClient client, int reduce, List<String> maps)
      throws IOException {
    return fetch(client, reduce, HOST, maps);
  }

  static Map<Integer, Object> fetch(
      NodeServiceClient client, int reduce, String host, List<String> maps) throws IOException {
    Map<Integer, Object> outcome = new TreeMap<>();
    int request = client.fetch(reduce, host, maps);
    for (int i = 0; i < maps.size(); i++) {
      NodeServiceClient.Answer answer = client.next(request);
      Object come = answer.refusal() == null ? bytesOf(answer) : answer.refusal();
      assertThat(outcome.put(answer.output(), come)).isNull();
      client.release(request, answer.output());
    }
    return outcome;
  }

  /** What comes of the first partition of one output. */
  static Object fetch(NodeServiceClient client, String map) throws IOException {
    return Objects.requireNonNull(fetch(client, 0, List.of(map)).get(0));
  }

  static byte[] bytesOf(NodeServiceClient.Answer answer) throws IOException {
    assertThat(answer.rawBytes()).isEqualTo(2 * answer.lengthBytes());
    byte[] file = Files.readAllBytes(Path.of(answer.file()));
    return Arrays.copyOfRange(
        file, (int) answer.offset(), (int) (answer.offset() + answer.lengthBytes()));
  }

  /** Another reducer of the job has the output. */
  void assertServes(JobOutputs job) throws IOException {
    byte[] bytes = job.write("attempt_1_m_999_0", 700);
    try (NodeServiceClient honest = connect(job.grant())) {
      assertThat(fetch(honest, "attempt_1_m_999_0")).isEqualTo(bytes);
    }
  }

  List<String> slabs() throws IOException {
    try (var files = Files.list(shared)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.equals("lock"))
          .toList();
    }
  }

  /** Deletes what a killed service has left. */
  void clear() throws IOException {
    for (String slab : slabs()) {
      Files.delete(shared.resolve(slab));
    }
  }

  /** Runs a command and returns its status; its errors are shown, its output is not. */
  static int statusOf(String... command) throws Exception {
    Process process = new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  /** Nothing is registered, and no file is left, within so many seconds. */
  void awaitNoMemory(int seconds) throws Exception {
    Await.atMost(
        seconds * 1_000L,
        () -> service.metric("registered_bytes") == 0 && slabs().isEmpty());
    assertThat(service.metric("registered_bytes")).as("registered bytes").isZero();
    assertThat(slabs()).isEmpty();
  }

  @Override
  public void close() throws IOException {
    try {
      service.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the service may still run", e);
    }
    assertThat(slabs()).as("files that the service has left").isEmpty();
  }
}
