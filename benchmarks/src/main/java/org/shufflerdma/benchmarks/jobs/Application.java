/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A driver with its executors, run by this process as a child: a {@link JobServer}. Closing it ends
 * the driver, and Spark ends the executors with it.
 */
final class Application implements AutoCloseable {
  private static final int START_S = 180;
  private static final int JOB_S = 900;
  private static final int STOP_S = 60;

  private final Process process;
  private final BufferedWriter orders;
  private final BufferedReader answers;
  private final ExecutorService reader = Executors.newSingleThreadExecutor(task -> {
    Thread thread = new Thread(task, "answers");
    thread.setDaemon(true);
    return thread;
  });
  private final ObjectMapper json = new ObjectMapper();

  private Application(Process process) {
    this.process = process;
    this.orders = process.outputWriter();
    this.answers = process.inputReader();
  }

  /**
   * Starts the driver of a side and waits until it has its executors.
   *
   * @param command starts a driver if {@code --driver SIDE} and settings follow its first word
   */
  static Application start(
      List<String> command, String side, Map<String, String> settings, Path log)
      throws IOException {
    List<String> words = new ArrayList<>(List.of(command.get(0), "--driver", side));
    settings.forEach((key, value) -> words.addAll(List.of("--conf", key + "=" + value)));
    words.addAll(command.subList(1, command.size()));
    Process process = new ProcessBuilder(words)
        .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
        .start();
    Application application = new Application(process);
    try {
      application.answer(START_S);
    } catch (Throwable t) {
      application.close();
      throw new IOException("the application did not start; its log is " + log, t);
    }
    return application;
  }

  /** Gives an order that {@link JobServer} knows, and waits for the answer. */
  JsonNode ask(String order) throws IOException {
    orders.write(order + "\n");
    orders.flush();
    return answer(JOB_S);
  }

  private JsonNode answer(int seconds) throws IOException {
    Future<String> line = reader.submit(answers::readLine);
    try {
      String answer = line.get(seconds, TimeUnit.SECONDS);
      if (answer == null) {
        throw new IOException("the driver has ended");
      }
      return json.readTree(answer);
    } catch (TimeoutException e) {
      throw new IOException("the driver did not answer within " + seconds + " s", e);
    } catch (ExecutionException e) {
      throw new IOException("the driver's answer could not be read", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  @Override
  public void close() throws IOException {
    List<ProcessHandle> executors = process.descendants().toList();
    try {
      orders.close();
      process.waitFor(STOP_S, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.destroyForcibly();
      executors.forEach(ProcessHandle::destroyForcibly);
      reader.shutdownNow();
    }
  }
}
