/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Another JVM on the test's class path, or a given one; killed when closed. */
public final class Jvm implements AutoCloseable {
  private static final int TIMEOUT_S = 60;

  private final Process process;
  private final BufferedReader output;

  public static Jvm start(Map<String, String> environment, Class<?> main, String... arguments)
      throws IOException {
    return start(
        System.getProperty("java.class.path"), List.of(), environment, main.getName(), arguments);
  }

  public static Jvm start(
      String classPath,
      List<String> options,
      Map<String, String> environment,
      String main,
      String... arguments)
      throws IOException {
    return new Jvm(List.of(), classPath, options, environment, main, arguments);
  }

  /** The same under a program that changes the new process, such as prlimit. */
  public static Jvm startUnder(
      List<String> wrapper, Map<String, String> environment, Class<?> main, String... arguments)
      throws IOException {
    return new Jvm(
        wrapper,
        System.getProperty("java.class.path"),
        List.of(),
        environment,
        main.getName(),
        arguments);
  }

  /**
   * The same as another user, which takes root.
   *
   * @param classes a folder that the user may enter, for a copy of the one class, which uses the JDK alone
   */
  public static Jvm startAs(int uid, Path classes, Class<?> main, String... arguments)
      throws IOException {
    String name = main.getName().replace('.', '/') + ".class";
    Path copy = classes.resolve(name);
    Files.createDirectories(copy.getParent());
    try (InputStream in = main.getClassLoader().getResourceAsStream(name)) {
      Files.write(copy, in.readAllBytes());
    }
    return new Jvm(
        List.of("setpriv", "--reuid=" + uid, "--regid=" + uid, "--clear-groups"),
        classes.toString(),
        List.of(),
        Map.of(),
        main.getName(),
        arguments);
  }

  private Jvm(
      List<String> wrapper,
      String classPath,
      List<String> options,
      Map<String, String> environment,
      String main,
      String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(wrapper);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xcheck:jni");
    command.add("-XX:TieredStopAtLevel=1");
    command.addAll(options);
    command.addAll(List.of("-cp", classPath, main));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    process = builder.start();
    output = process.inputReader(StandardCharsets.UTF_8);
  }

  public static String classPath(Path... entries) {
    List<String> parts = new ArrayList<>();
    for (Path entry : entries) {
      parts.add(entry.toString());
    }
    return String.join(File.pathSeparator, parts);
  }

  /** Lines up to one with this prefix, which is returned without it. */
  public String awaitLine(String prefix) throws IOException {
    StringBuilder seen = new StringBuilder();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      if (line.startsWith(prefix)) {
        return line.substring(prefix.length());
      }
      seen.append(line).append('\n');
    }
    throw new AssertionError("no line " + prefix + " in:\n" + seen);
  }

  /** Writes a line to its standard input. */
  public void say(String line) throws IOException {
    process.outputWriter(StandardCharsets.UTF_8).append(line).append('\n').flush();
  }

  /** Waits for its end and returns the rest of its output. */
  public String end() throws IOException, InterruptedException {
    StringBuilder rest = new StringBuilder();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      rest.append(line).append('\n');
    }
    assertThat(process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)).as("end in time").isTrue();
    return rest.toString();
  }

  public int exitValue() {
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
