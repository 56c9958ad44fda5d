/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Another JVM with the class path and the options of this one. It says a line of JSON when it is
 * ready and for each line that it is told, and ends when its standard input does. One thread at a time calls.
 */
public final class OtherJvm implements AutoCloseable {
  private static final int STOP_S = 10;

  private final Process process;
  private final BufferedReader lines;
  private final JsonNode said;

  private OtherJvm(Process process, BufferedReader lines, JsonNode said) {
    this.process = process;
    this.lines = lines;
    this.said = said;
  }

  /**
   * Starts a program.
   *
   * @param words run the command that follows them, for example on another host; none run it here
   */
  public static OtherJvm start(List<String> words, Class<?> program, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(words);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    BufferedReader lines = process.inputReader();
    return new OtherJvm(process, lines, next(lines, program.getSimpleName() + " did not start"));
  }

  private static JsonNode next(BufferedReader lines, String otherwise) throws IOException {
    String line = lines.readLine();
    if (line == null) {
      throw new IOException(otherwise);
    }
    return new ObjectMapper().readTree(line);
  }

  /** What it said when it was ready. */
  public JsonNode said() {
    return said;
  }

  /** Tells it a line, to which {@link #reply} is the answer. */
  public void tell(String line) throws IOException {
    process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
  }

  /** Waits for its next line. */
  public JsonNode reply() throws IOException {
    return next(lines, "process " + process.pid() + " ended early");
  }

  public long pid() {
    return process.pid();
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      process.waitFor(STOP_S, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
  }
}
