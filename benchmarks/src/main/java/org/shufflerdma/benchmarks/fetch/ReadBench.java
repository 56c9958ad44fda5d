/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures what a READ costs, of both processes together: lists of READs over the plugin's connection,
 * and the same READs of the same files by a loop of C on the same device. The two take turns, and
 * every other round goes backwards. Each pass is a line in the file of results.
 *
 * <p>Arguments: RESULTS COMMIT DIRECTORY BYTES ROUNDS LOOP APPLICATION; LOOP is the program of C, and APPLICATION the number of
 * this pair of processes among those that measure.
 */
public final class ReadBench {
  private static final int WARM_UPS = 2;
  private static final int SMALLEST_BYTES = 64;
  private static final int LARGEST_BYTES = 4 << 20;
  private static final int[] DEPTHS = {1, 4, 16, 64, 128};

  /** More than a task has in flight by default. */
  private static final long MOST_LIST_BYTES = 64 << 20;

  private static final int MOST_READS = 1 << 16;
  private static final String LOOP = "c-loop";

  private final ResultLog results;
  private final ReadSource source;
  private final String loop;
  private final int application;
  private final ConnectionReads plugin;
  private final long serverPid;

  private ReadBench(String[] arguments, ReadSource source, ConnectionReads plugin, long serverPid)
      throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    this.source = source;
    loop = arguments[5];
    application = Integer.parseInt(arguments[6]);
    this.plugin = plugin;
    this.serverPid = serverPid;
  }

  /**
   * What the passes of one scenario do.
   *
   * @param depth READs of a list, all of which complete before the next list is posted
   */
  record Lists(int readBytes, int depth, int lists) {
    long reads() {
      return (long) lists * depth;
    }

    String label() {
      String size = readBytes < 1 << 10
          ? readBytes + " B"
          : readBytes < 1 << 20 ? (readBytes >> 10) + " KiB" : (readBytes >> 20) + " MiB";
      return size + " x " + depth;
    }
  }

  public static void main(String[] arguments) throws Exception {
    ReadSource source = ReadSource.ofBytes(Path.of(arguments[2]), Long.parseLong(arguments[3]));
    try (OtherJvm server = OtherJvm.start(List.of(), ReadServer.class, arguments[2], arguments[3]);
        ConnectionReads plugin = new ConnectionReads(server.said(), source, MOST_LIST_BYTES)) {
      ReadBench bench = new ReadBench(arguments, source, plugin, server.pid());
      for (int bytes = SMALLEST_BYTES;
          bytes <= Math.min(LARGEST_BYTES, source.fileBytes());
          bytes *= 4) {
        for (int depth : DEPTHS) {
          long listBytes = (long) bytes * depth;
          if (listBytes <= Math.min(MOST_LIST_BYTES, source.totalBytes())) {
            long lists = Math.min(source.totalBytes() / listBytes, MOST_READS / depth);
            bench.measure(new Lists(bytes, depth, (int) lists), Integer.parseInt(arguments[4]));
          }
        }
      }
    }
  }

  private void measure(Lists lists, int rounds) throws Exception {
    for (int round = 0; round < WARM_UPS; round++) {
      measure("read, warm-up", lists, round, Run.PLUGIN);
    }
    List<String> sides = new ArrayList<>(List.of(Run.PLUGIN, LOOP));
    for (int round = 0; round < rounds; round++) {
      for (String side : sides) {
        measure("read", lists, round, side);
      }
      Collections.reverse(sides);
    }
  }

  private void measure(String benchmark, Lists lists, int round, String side) throws Exception {
    if (results.has(benchmark, lists.label(), application, round, side)) {
      return;
    }
    Pass pass = side.equals(LOOP) ? loop(lists) : pass(lists);
    long expected = 0;
    for (long read = lists.reads() - lists.depth(); read < lists.reads(); read++) {
      expected += source.sum(source.place(read, lists.readBytes()), lists.readBytes());
    }
    if (pass.digest != expected) {
      throw new IOException(side + " read other bytes than " + lists + " has");
    }
    results.add(
        new Run(
            benchmark,
            lists.label(),
            application,
            round,
            side,
            Long.toHexString(pass.digest),
            pass.figures(lists)),
        Map.of("reads", lists.reads()));
    System.err.printf(
        Locale.ROOT, "%s, %s %d %s: %s%n", benchmark, lists.label(), round, side, pass);
  }

  /**
   * One pass over the files.
   *
   * @param digest sum of the numbers in the last list
   */
  private record Pass(long digest, double wallS, double cpuS) {
    Map<String, Double> figures(Lists lists) {
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("CPU of both sides per READ, µs", cpuS * 1e6 / lists.reads());
      figures.put("time per READ, µs", wallS * 1e6 / lists.reads());
      figures.put("GB/s", (double) lists.reads() * lists.readBytes() / 1e9 / wallS);
      return figures;
    }
  }

  private Pass pass(Lists lists) throws Exception {
    long[] pids = {ProcessHandle.current().pid(), serverPid};
    double cpuBefore = ProcessCpu.seconds(pids);
    long startNs = System.nanoTime();
    long digest = plugin.read(lists);
    double wallS = (System.nanoTime() - startNs) / 1e9;
    return new Pass(digest, wallS, ProcessCpu.seconds(pids) - cpuBefore);
  }

  private Pass loop(Lists lists) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        loop,
        Integer.toString(lists.readBytes()),
        Integer.toString(lists.depth()),
        Integer.toString(plugin.readsPerPost()),
        Integer.toString(lists.lists())));
    source.files().forEach(file -> command.add(file.toString()));
    String[] words = FetchBench.wordsOf(command);
    return new Pass(
        Long.parseLong(words[0]), Long.parseLong(words[1]) / 1e9, Long.parseLong(words[2]) / 1e9);
  }
}
