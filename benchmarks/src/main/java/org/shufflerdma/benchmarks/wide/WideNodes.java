/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.wide;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * A process with some nodes. It says where they are, and what its nodes have read when it is told a file that names
 * the owners; all of them read at a time. Told {@value #ANEW}, it opens new nodes. It ends with its standard input.
 *
 * <p>Arguments: DIRECTORY NAME NODES STAGING-BYTES [KEY=VALUE...].
 */
public final class WideNodes implements AutoCloseable {
  static final String ANEW = "anew";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final String[] arguments;
  private final Outputs outputs;
  private final ExecutorService tasks = Executors.newCachedThreadPool();
  private final List<WideNode> nodes = new ArrayList<>();
  private int opened;

  private WideNodes(String[] arguments) throws IOException {
    this.arguments = arguments;
    this.outputs = new Outputs(Path.of(arguments[0]), arguments[1]);
  }

  public static void main(String[] arguments) throws Exception {
    try (WideNodes process = new WideNodes(arguments);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      process.open();
      String line;
      while ((line = in.readLine()) != null) {
        if (line.equals(ANEW)) {
          process.closeNodes();
          process.open();
        } else {
          process.read(Path.of(line));
        }
      }
    }
  }

  private void open() throws Exception {
    List<String> conf = List.of(arguments).subList(4, arguments.length);
    for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
      nodes.add(new WideNode(
          arguments[1] + "-" + opened++,
          outputs,
          Long.parseLong(arguments[3]),
          WideNode.settings(conf)));
    }
    say(nodes.stream().map(WideNode::said).toList());
  }

  private void read(Path file) throws Exception {
    List<JsonNode> owners = new ArrayList<>();
    JSON.readTree(file.toFile()).forEach(owners::add);
    List<Future<WideNode.Result>> results = new ArrayList<>();
    for (int i = 0; i < nodes.size(); i++) {
      WideNode node = nodes.get(i);
      int partition = i % Outputs.PARTITIONS;
      results.add(tasks.submit(() -> node.read(owners, partition)));
    }
    List<WideNode.Result> read = new ArrayList<>();
    for (Future<WideNode.Result> result : results) {
      read.add(result.get());
    }
    say(Map.of("read", read, "state", state(nodes)));
  }

  /** Closes all nodes at once, since each has threads to wait for. */
  private void closeNodes() throws IOException {
    List<Future<?>> closing = new ArrayList<>();
    for (WideNode node : nodes) {
      closing.add(tasks.submit(node::close));
    }
    nodes.clear();
    try {
      for (Future<?> each : closing) {
        each.get();
      }
    } catch (InterruptedException | ExecutionException e) {
      throw new IOException("a node could not be closed", e);
    }
  }

  @Override
  public void close() throws IOException {
    closeNodes();
    tasks.shutdownNow();
  }

  private static void say(Object what) throws IOException {
    System.out.println(JSON.writeValueAsString(what));
  }

  private static Map<String, Long> state(List<WideNode> nodes) throws IOException {
    long descriptors;
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      descriptors = open.count();
    }
    return Map.of(
        "descriptors",
        descriptors,
        "threads",
        status("Threads"),
        "resident KiB",
        status("VmRSS"),
        "registered bytes",
        nodes.stream().mapToLong(WideNode::registeredBytes).sum(),
        "most bytes for readers of a node",
        most(nodes, node -> node.staging.registeredBytes()),
        "most connections of a node to owners",
        most(nodes, node -> node.transport.outboundConnections()),
        "most completion queue entries of a node",
        most(nodes, node -> node.transport.completionQueueEntries()),
        "most queue bytes of a node",
        most(nodes, node -> node.transport.queueBytes()));
  }

  private static long most(List<WideNode> nodes, ToLongFunction<WideNode> figure) {
    return nodes.stream().mapToLong(figure).max().orElse(0);
  }

  private static long status(String key) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(key + ":")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("/proc/self/status has no " + key);
  }
}
