/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.verbs.TestDevice;

/** A reducer whose node service is stopped or killed waits no longer than it may. */
@Timeout(120)
class ServiceFaultsTest {
  private static final String MAP = "attempt_1_m_1_0";
  private static final int TIMEOUT_MS = 1_500;

  @TempDir
  Path directory;

  private Scene scene;
  private JobOutputs job;
  private byte[] bytes;

  @BeforeEach
  void start() throws Exception {
    scene = new Scene(directory, 16 << 20);
    job = scene.job("alice");
    job.grant().leave();
    bytes = job.write(MAP, 500);
  }

  @AfterEach
  void stop() throws Exception {
    scene.close();
  }

  private void signal(String name) throws Exception {
    String pid = String.valueOf(scene.service.pid());
    assertThat(Scene.statusOf("kill", "-" + name, pid)).isZero();
  }

  private NodeServiceClient impatient() throws IOException {
    return NodeServiceClient.connect(job.grant(), scene.service.port, TIMEOUT_MS);
  }

  @Test
  void aServiceThatIsStoppedIsNotWaitedForLongerThanTheTimeout() throws Exception {
    try (NodeServiceClient client = impatient()) {
      assertThat(Scene.fetch(client, MAP)).isEqualTo(bytes);
      signal("STOP");
      long startNs = System.nanoTime();
      assertThatThrownBy(() -> Scene.fetch(client, MAP)).isInstanceOf(IOException.class);
      assertThatThrownBy(this::impatient).isInstanceOf(IOException.class);
      assertThat(System.nanoTime() - startNs)
          .isLessThan(TimeUnit.MILLISECONDS.toNanos(4 * TIMEOUT_MS));
      signal("CONT");
    }
    scene.assertServes(job);
  }

  @Test
  void aServiceThatIsKilledEndsTheWaitAndItsSuccessorFindsTheJob() throws Exception {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      NodeServiceClient.Answer held = client.next(client.fetch(0, Scene.HOST, List.of(MAP)));
      assertThat(Scene.bytesOf(held)).isEqualTo(bytes);
      signal("STOP");
      int request = client.fetch(0, Scene.HOST, List.of(MAP));
      CompletableFuture<NodeServiceClient.Answer> waiting = CompletableFuture.supplyAsync(() -> {
        try {
          return client.next(request);
        } catch (IOException e) {
          throw new IllegalStateException(e);
        }
      });
      Thread.sleep(300); // it waits
      assertThat(waiting).isNotDone();
      scene.service.kill();
      assertThatThrownBy(() -> waiting.get(5, TimeUnit.SECONDS))
          .hasRootCauseInstanceOf(IOException.class);
      assertThat(Scene.bytesOf(held)).as("what it had").isEqualTo(bytes);
      assertThatThrownBy(this::impatient).isInstanceOf(IOException.class);
    }
    scene.service.start();
    scene.assertServes(job);
  }

  @Test
  void aReducerIsEndedWithTheDeviceThatReadWhatItHolds() throws Exception {
    assumeThat(TestDevice.isSoft())
        .as("faults are asked of the software device")
        .isTrue();
    try (NodeServiceClient client = scene.connect(job.grant())) {
      NodeServiceClient.Answer held = client.next(client.fetch(0, Scene.HOST, List.of(MAP)));
      assertThat(Scene.bytesOf(held)).isEqualTo(bytes);
      scene.service.faults.say("raise DEVICE_FATAL");
      Await.until("the slab is gone", Scene.TIMEOUT_MS, () -> !Files.exists(Path.of(held.file())));
      assertThatThrownBy(() -> Scene.fetch(client, MAP)).isInstanceOf(IOException.class);
    }
    scene.assertServes(job);
  }

  @Test
  void aServiceThatWasStartedAnewBetweenTwoRequestsIsAskedOnANewConnection() throws Exception {
    try (HostOutputs reducer = new HostOutputs(job.grant(), scene.service.port, 0)) {
      for (int i = 0; i < 2; i++) {
        reducer.ask(Scene.HOST, List.of(MAP));
        NodeServiceClient.Answer answer = reducer.next();
        assertThat(reducer.open(answer).readAllBytes()).isEqualTo(bytes);
        reducer.release(answer);
        reducer.endRequest();
        scene.service.kill();
        scene.service.start();
      }
      reducer.end();
      assertThatThrownBy(() -> reducer.ask(Scene.HOST, List.of(MAP)))
          .isInstanceOf(IOException.class);
    }
  }
}
