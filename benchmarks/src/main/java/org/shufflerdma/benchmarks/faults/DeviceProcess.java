/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * A child process of this JVM that has a device, and the control socket of that device ({@code
 * docs/fault-injection.md}).
 *
 * @param name that of an executor is its id
 */
record DeviceProcess(String name, ProcessHandle process, Path control) {
  private static final int ANSWER_MS = 10_000;
  private static final int MOST_ANSWER_BYTES = 1 << 16;
  private static final Pattern RULE = Pattern.compile("seen=(\\d+) hits=(\\d+)");

  /** The number of a rule's events, and how often it struck. */
  record RuleCount(long seen, long hits) {}

  /** Returns the living executors of a local-cluster, by executor id. */
  static List<DeviceProcess> executors(Path controlDirectory) {
    return ProcessHandle.current()
        .descendants()
        .filter(ProcessHandle::isAlive)
        .flatMap(process -> executorId(process).stream()
            .map(id -> new DeviceProcess(
                id, process, controlDirectory.resolve(Long.toString(process.pid())))))
        .sorted((a, b) -> a.name.compareTo(b.name))
        .toList();
  }

  private static Optional<String> executorId(ProcessHandle process) {
    List<String> arguments = process.info().arguments().map(Arrays::asList).orElse(List.of());
    int at = arguments.indexOf("--executor-id");
    boolean isExecutor =
        arguments.contains("org.apache.spark.executor.CoarseGrainedExecutorBackend");
    return isExecutor && at >= 0 && at + 1 < arguments.size()
        ? Optional.of(arguments.get(at + 1))
        : Optional.empty();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /**
   * Returns whether its device has been opened and therefore answers commands. The file of the socket
   * alone does not tell, since it stays after a kill, and so does the process for a moment.
   */
  boolean isListening() {
    if (!isAlive() || !Files.exists(control)) {
      return false;
    }
    try {
      command("list");
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Sends the device a command; throws unless the answer is ok. */
  String command(String line) throws IOException {
    String answer = ask(line);
    if (!answer.startsWith("ok")) {
      throw new IOException("'" + line + "' was answered with '" + answer + "'");
    }
    return answer;
  }

  private String ask(String line) throws IOException {
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ANSWER_MS);
    ByteBuffer answer = ByteBuffer.allocate(MOST_ANSWER_BYTES);
    try (Selector selector = Selector.open();
        SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(control))) {
      ByteBuffer request = ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8));
      while (request.hasRemaining()) {
        channel.write(request);
      }
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_READ);
      while (answer.position() == 0 || answer.get(answer.position() - 1) != '\n') {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
        if (leftMs <= 0 || selector.select(leftMs) == 0) {
          throw new SocketTimeoutException(name + " does not answer: " + line);
        }
        selector.selectedKeys().clear();
        if (channel.read(answer) < 0) {
          throw new EOFException(name + " is gone");
        }
      }
    }
    return new String(answer.array(), 0, answer.position() - 1, StandardCharsets.UTF_8);
  }

  /** Returns the counts of all rules, in the order in which they were set. */
  List<RuleCount> counts() throws IOException {
    return RULE.matcher(command("list"))
        .results()
        .map(rule -> new RuleCount(Long.parseLong(rule.group(1)), Long.parseLong(rule.group(2))))
        .toList();
  }

  void kill() {
    process.destroyForcibly();
  }

  /** Deletes the map outputs that the process has mapped, as a cleaner of disks might do. */
  void unlinkMappedOutputs() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "maps"))) {
      int path = line.indexOf('/');
      if (path >= 0 && line.endsWith(".data") && line.contains("/shuffle_")) {
        Files.deleteIfExists(Path.of(line.substring(path)));
      }
    }
  }

  /** Stops the process with SIGSTOP, or continues it with SIGCONT. */
  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
        .redirectErrorStream(true)
        .start()
        .waitFor();
  }
}
