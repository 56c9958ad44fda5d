/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Keeps the logs and stacks of a number that went wrong. */
final class Evidence {
  private static final int JSTACK_S = 20;

  private Evidence() {}

  static void keep(Path directory, String application, List<DeviceProcess> executors)
      throws IOException {
    Files.createDirectories(directory);
    keepOwnThreads(directory.resolve("driver-threads"));
    for (DeviceProcess executor : executors) {
      keepThreads(executor, directory.resolve("executor-" + executor.name() + "-threads"));
    }
    Path logs = Path.of(System.getenv("SPARK_HOME"), "work", application);
    if (!Files.isDirectory(logs)) {
      return;
    }
    try (Stream<Path> folders = Files.list(logs)) {
      for (Path folder : folders.toList()) {
        Path log = folder.resolve("stderr");
        if (Files.exists(log)) {
          Files.copy(log, directory.resolve("executor-" + folder.getFileName() + "-stderr"));
        }
      }
    }
  }

  private static void keepOwnThreads(Path file) throws IOException {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      Thread.getAllStackTraces().forEach((thread, frames) -> {
        out.println(thread + " " + thread.getState());
        for (StackTraceElement frame : frames) {
          out.println("    at " + frame);
        }
      });
    }
  }

  private static void keepThreads(DeviceProcess executor, Path file) throws IOException {
    String jstack = Path.of(System.getProperty("java.home"), "bin", "jstack").toString();
    Process process = new ProcessBuilder(
            jstack, Long.toString(executor.process().pid()))
        .redirectErrorStream(true)
        .redirectOutput(file.toFile())
        .start();
    try {
      if (!process.waitFor(JSTACK_S, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
