/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.wide;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shufflerdma.benchmarks.fetch.OtherJvm;
import org.shufflerdma.benchmarks.fetch.ProcessCpu;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;
import org.shufflerdma.concurrent.Acquired;

/**
 * Has many readers read from many owners at the same time, and measures how long each waits and what it costs. In each
 * round new readers read twice, and connect first. As many owners as readers are the same nodes, of which each
 * reads from all others; they connect in the first round.
 *
 * <p>Arguments: RESULTS COMMIT DIRECTORY APPLICATIONS ROUNDS OWNERS READERS STAGING-BYTES HALF-SILENT [KEY=VALUE...], the
 * last of which are settings of the plugin.
 */
public final class WideBench {
  private static final int PROCESSES = 4;

  private final ResultLog results;
  private final Path directory;
  private final int rounds;
  private final int owners;
  private final int readers;
  private final String stagingBytes;
  private final boolean isHalfSilent;
  private final List<String> conf;

  private WideBench(String[] arguments) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    directory = Path.of(arguments[2]);
    rounds = Integer.parseInt(arguments[4]);
    owners = Integer.parseInt(arguments[5]);
    readers = Integer.parseInt(arguments[6]);
    stagingBytes = arguments[7];
    isHalfSilent = Boolean.parseBoolean(arguments[8]);
    conf = List.of(arguments).subList(9, arguments.length);
  }

  public static void main(String[] arguments) throws Exception {
    WideBench bench = new WideBench(arguments);
    for (int application = 0; application < Integer.parseInt(arguments[3]); application++) {
      bench.measure(application);
    }
  }

  private String scenario() {
    String kind = "%d owners, %d readers, ".formatted(owners, readers);
    String outputs = stagingBytes.equals("0")
        ? "registered"
        : "staged in %d MB".formatted(Long.parseLong(stagingBytes) / 1_000_000);
    int places = WideNode.settings(conf).maxConnections();
    return kind + outputs + ", " + places + " places" + (isHalfSilent ? ", half silent" : "");
  }

  private void measure(int application) throws Exception {
    if (results.has("wide", scenario(), application, rounds - 1, Run.PLUGIN)) {
      return;
    }
    boolean areSame = owners == readers;
    Files.createDirectories(directory);
    try (Acquired acquired = new Acquired()) {
      List<OtherJvm> owning = start(acquired, "owner", owners, stagingBytes);
      List<OtherJvm> reading = areSame ? owning : start(acquired, "reader", readers, "0");
      List<OtherJvm> all = new ArrayList<>(owning);
      if (!areSame) {
        all.addAll(reading);
      }
      Path file = directory.resolve("owners.json");
      List<JsonNode> nodes = new ArrayList<>();
      owning.forEach(process -> process.said().forEach(nodes::add));
      new ObjectMapper().writeValue(file.toFile(), nodes);
      for (int round = 0; round < rounds; round++) {
        if (round > 0 && !areSame) {
          openAnew(reading);
        }
        if (round == 0 || !areSame) {
          note("wide, connecting", application, round, passInPart(file, owning, reading, all));
        }
        note("wide", application, round, pass(file, owning, reading, all));
      }
    }
  }

  /** Runs a pass while half of the processes of the owners are stopped, if these are to be silent. */
  private Pass passInPart(
      Path file, List<OtherJvm> owning, List<OtherJvm> reading, List<OtherJvm> all)
      throws Exception {
    if (!isHalfSilent) {
      return pass(file, owning, reading, all);
    }
    // A process that stays stopped does not notice the end of this one.
    Thread resume = new Thread(() -> signal("CONT", owning));
    Runtime.getRuntime().addShutdownHook(resume);
    signal("STOP", owning);
    try {
      return pass(file, owning, reading, all);
    } finally {
      signal("CONT", owning);
      Runtime.getRuntime().removeShutdownHook(resume);
    }
  }

  private static void signal(String name, List<OtherJvm> owning) {
    for (OtherJvm process : owning.subList(0, owning.size() / 2)) {
      try {
        int status = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
            .inheritIO()
            .start()
            .waitFor();
        if (status != 0) {
          throw new IOException("kill ended with status " + status);
        }
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException("an owner could not be sent SIG" + name, e);
      }
    }
  }

  private static void openAnew(List<OtherJvm> reading) throws IOException {
    for (OtherJvm process : reading) {
      process.tell(WideNodes.ANEW);
      process.reply();
    }
  }

  private void note(String benchmark, int application, int round, Pass pass) throws IOException {
    results.add(
        new Run(benchmark, scenario(), application, round, Run.PLUGIN, "", pass.figures),
        Map.of("left", pass.left, "states", pass.states));
    System.out.printf(
        "%s, %s %d.%d: %s, left %s%n",
        benchmark, scenario(), application, round, pass.figures, pass.left);
  }

  private List<OtherJvm> start(Acquired acquired, String name, int nodes, String staging)
      throws IOException {
    int processes = Math.min(PROCESSES, nodes);
    List<OtherJvm> started = new ArrayList<>();
    for (int i = 0; i < processes; i++) {
      int own = nodes / processes + (i < nodes % processes ? 1 : 0);
      List<String> arguments =
          new ArrayList<>(List.of(directory.toString(), name + i, Integer.toString(own), staging));
      arguments.addAll(conf);
      started.add(acquired.keep(
          OtherJvm.start(List.of(), WideNodes.class, arguments.toArray(String[]::new))));
    }
    return started;
  }

  private record Pass(
      Map<String, Double> figures, Map<String, Integer> left, List<JsonNode> states) {}

  private Pass pass(Path file, List<OtherJvm> owning, List<OtherJvm> reading, List<OtherJvm> all)
      throws Exception {
    double ownersBefore = ProcessCpu.seconds(pids(owning));
    double allBefore = ProcessCpu.seconds(pids(all));
    for (OtherJvm process : reading) {
      process.tell(file.toString());
    }
    double firstS = 0;
    double lastS = 0;
    double endS = 0;
    long blocks = 0;
    Map<String, Integer> left = new TreeMap<>();
    List<JsonNode> states = new ArrayList<>();
    for (OtherJvm process : reading) {
      JsonNode reply = process.reply();
      for (JsonNode read : reply.get("read")) {
        firstS = Math.max(firstS, read.get("firstS").asDouble());
        lastS = Math.max(lastS, read.get("lastS").asDouble());
        endS = Math.max(endS, read.get("endS").asDouble());
        blocks += read.get("blocks").asLong();
        read.get("left")
            .properties()
            .forEach(one -> left.merge(one.getKey(), one.getValue().asInt(), Integer::sum));
      }
      states.add(reply.get("state"));
    }
    double cpuS = ProcessCpu.seconds(pids(all)) - allBefore;
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("last reader's first block, s", rounded(firstS));
    figures.put("last block by RDMA, s", rounded(lastS));
    figures.put("end, s", rounded(endS));
    figures.put(
        "blocks by TCP", (double) left.values().stream().mapToInt(n -> n).sum());
    figures.put("CPU per block, µs", rounded(cpuS * 1e6 / Math.max(1, blocks)));
    figures.put("CPU, s", rounded(cpuS));
    figures.put("owners' CPU, s", rounded(ProcessCpu.seconds(pids(owning)) - ownersBefore));
    return new Pass(figures, left, states);
  }

  private static double rounded(double figure) {
    return Math.round(figure * 1_000) / 1_000.0;
  }

  private static long[] pids(List<OtherJvm> processes) {
    return processes.stream().mapToLong(OtherJvm::pid).toArray();
  }
}
