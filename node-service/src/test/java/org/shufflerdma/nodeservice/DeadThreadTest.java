/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Await;

/** A service in a process of its own, one of whose threads dies of an error. */
@Timeout(180)
class DeadThreadTest {
  private static final long MAX_REGISTERED_BYTES = 8 << 20;

  @TempDir
  Path directory;

  @BeforeEach
  void canKillThreads() {
    assumeThat(Runtime.version().feature()).as("a JVM with Thread.stop").isLessThan(20);
  }

  @ParameterizedTest
  @ValueSource(strings = {"control", "registration-loop"})
  void theProcessExitsSoThatItIsStartedAnew(String thread) throws Exception {
    ServiceProcess service =
        new ServiceProcess(directory, MAX_REGISTERED_BYTES, ServiceToStrike.class);
    service.say(thread);
    assertThat(service.exitStatus()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"control", "registration-loop"})
  void healthAndAMetricShowIt(String thread) throws Exception {
    ServiceProcess service =
        new ServiceProcess(directory, MAX_REGISTERED_BYTES, ServiceWithoutMain.class);
    try {
      assertThat(service.metric(ServiceMetric.THREADS_DEAD)).isZero();
      service.say(thread);
      Await.until(() -> !service.page("/health").equals("ok\n"));
      assertThat(service.page("/health")).contains("a thread has died");
      assertThat(service.metric(ServiceMetric.THREADS_DEAD)).isEqualTo(1);
    } finally {
      service.kill();
    }
  }

  /** Ends the thread that the next line of the standard input names, as an error in it would. */
  @SuppressWarnings({"deprecation", "removal"})
  private static void strike() {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Thread killer = new Thread(() -> {
      String name = Objects.requireNonNull(in.lines().findFirst().orElse(null));
      Thread.getAllStackTraces().keySet().stream()
          .filter(thread -> thread.getName().equals(name))
          .forEach(Thread::stop);
    });
    killer.setDaemon(true);
    killer.start();
  }

  /** Something in it does not end, either. */
  static final class ServiceToStrike {
    private ServiceToStrike() {}

    public static void main(String[] arguments) {
      Runtime.getRuntime().addShutdownHook(new Thread(ServiceToStrike::neverEnd));
      strike();
      NodeService.main(arguments);
    }

    private static void neverEnd() {
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** It lives on, whatever happens. */
  static final class ServiceWithoutMain {
    private ServiceWithoutMain() {}

    public static void main(String[] arguments) throws Exception {
      Properties settings = new Properties();
      try (Reader in = Files.newBufferedReader(Path.of(arguments[0]))) {
        settings.load(in);
      }
      NodeService service = NodeService.open(settings.stringPropertyNames().stream()
          .collect(Collectors.toMap(key -> key, settings::getProperty)));
      strike();
      new CountDownLatch(1).await();
      service.close();
    }
  }
}
