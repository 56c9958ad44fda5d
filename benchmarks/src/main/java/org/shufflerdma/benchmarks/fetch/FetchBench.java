/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures what a block costs, of both processes together, by each way to fetch it. The ways take
 * turns, and every other round goes backwards. Each pass over a set of blocks is a line in the file of
 * results.
 *
 * <p>Arguments: RESULTS COMMIT DIRECTORY BYTES ROUNDS LOOP APPLICATION [HOST PEER WORD...]; LOOP is the program of the
 * system calls, and APPLICATION the number of this pair of processes among those that measure. With HOST, which is the name
 * of this host, the words run a command on the host PEER, and the blocks come from there.
 */
public final class FetchBench {
  /** Blocks after which the JVM has compiled what a side runs, as far as passes may be so many. */
  private static final int WARM_UP_BLOCKS = 500_000;

  private static final int LEAST_WARM_UPS = 3;
  private static final int MOST_WARM_UPS = 30;
  private static final List<String> LOOPS = List.of("process_vm_readv", "pread");
  private static final String LOCALHOST = "127.0.0.1";
  private static final Path RECEIVED = Path.of("/sys/class/net/eth0/statistics/rx_bytes");

  private final ResultLog results;
  private final boolean betweenHosts;
  private final Path directory;
  private final String loop;
  private final int application;
  private final long serverPid;
  private final Map<String, BlockReader> readers;

  private FetchBench(String[] arguments, long serverPid, Map<String, BlockReader> readers)
      throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    betweenHosts = isBetweenHosts(arguments);
    directory = Path.of(arguments[2]);
    loop = arguments[5];
    application = Integer.parseInt(arguments[6]);
    this.serverPid = serverPid;
    this.readers = readers;
  }

  private static boolean isBetweenHosts(String[] arguments) {
    return arguments.length > 7;
  }

  public static void main(String[] arguments) throws Exception {
    String host = LOCALHOST;
    String peer = LOCALHOST;
    List<String> words = List.of();
    if (isBetweenHosts(arguments)) {
      host = arguments[7];
      peer = arguments[8];
      words = List.of(arguments).subList(9, arguments.length);
    }
    try (OtherJvm server =
            OtherJvm.start(words, FetchServer.class, arguments[2], arguments[3], peer);
        FetcherReader fetcher = new FetcherReader(server.said(), InetAddress.getByName(host));
        NettyReader netty = new NettyReader(peer, server.said().get("nettyPort").asInt());
        @Nullable
            UcxReader ucx =
                isBetweenHosts(arguments) ? null : new UcxReader(server.said().get("ucx"))) {
      Map<String, BlockReader> readers = new LinkedHashMap<>();
      readers.put(Run.PLUGIN, new DirectReader(fetcher, false));
      readers.put("rdma-staged", new DirectReader(fetcher, true));
      readers.put("rdma-fetcher", fetcher);
      readers.put("netty", netty);
      if (ucx != null) {
        readers.put("ucx", ucx);
      }
      FetchBench bench = new FetchBench(arguments, server.pid(), readers);
      List<String> loops = isBetweenHosts(arguments) ? List.of() : LOOPS;
      for (BlockSet set : BlockSet.ofBytes(Long.parseLong(arguments[3]))) {
        bench.measure(", warm-up", set, warmUps(set), List.of());
        bench.measure("", set, Integer.parseInt(arguments[4]), loops);
      }
    }
  }

  private static int warmUps(BlockSet set) {
    return Math.max(LEAST_WARM_UPS, Math.min(MOST_WARM_UPS, WARM_UP_BLOCKS / set.blocks()));
  }

  private void measure(String phase, BlockSet set, int rounds, List<String> loops)
      throws Exception {
    String benchmark = (betweenHosts ? "fetch between hosts" : "fetch") + phase;
    List<String> sides = new ArrayList<>(readers.keySet());
    sides.addAll(loops);
    for (int round = 0; round < rounds; round++) {
      for (String side : sides) {
        if (results.has(benchmark, set.label(), application, round, side)) {
          continue;
        }
        BlockReader reader = readers.get(side);
        Pass pass = reader == null ? loop(set, side) : pass(set, reader);
        results.add(
            new Run(
                benchmark,
                set.label(),
                application,
                round,
                side,
                Long.toHexString(pass.digest),
                pass.figures(set)),
            Map.of("blocks", set.blocks()));
        System.err.printf(
            Locale.ROOT, "%s, %s %d %s: %s%n", benchmark, set.label(), round, side, pass);
      }
      Collections.reverse(sides);
    }
  }

  /** One pass over a set. */
  private record Pass(long digest, double wallS, double readerCpuS, double serverCpuS) {
    Map<String, Double> figures(BlockSet set) {
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put(
          "CPU of both sides per block, µs", (readerCpuS + serverCpuS) * 1e6 / set.blocks());
      figures.put("reader's CPU per block, µs", readerCpuS * 1e6 / set.blocks());
      figures.put("server's CPU per block, µs", serverCpuS * 1e6 / set.blocks());
      figures.put("time per block, µs", wallS * 1e6 / set.blocks());
      figures.put("blocks/s", set.blocks() / wallS);
      figures.put("GB/s", (double) set.blocks() * set.blockBytes() / 1e9 / wallS);
      return figures;
    }
  }

  private Pass pass(BlockSet set, BlockReader reader) throws Exception {
    reader.begin(set);
    Tally tally = new Tally(set);
    double readerBefore = ProcessCpu.seconds(ProcessHandle.current().pid());
    double serverBefore = ProcessCpu.seconds(serverPid);
    long receivedBefore = receivedBytes();
    long startNs = System.nanoTime();
    for (int partition = 0; partition < set.partitions(); partition++) {
      tally.awaitRoom();
      reader.request(set, partition, tally);
    }
    long digest = tally.awaitAll();
    double wallS = (System.nanoTime() - startNs) / 1e9;
    long received = receivedBytes() - receivedBefore;
    if (betweenHosts && received < (long) set.blocks() * set.blockBytes()) {
      throw new IOException("only " + received + " bytes came over the link of " + set);
    }
    return new Pass(
        digest,
        wallS,
        ProcessCpu.seconds(ProcessHandle.current().pid()) - readerBefore,
        ProcessCpu.seconds(serverPid) - serverBefore);
  }

  /** The same blocks by a program that only makes system calls and checksums. */
  private Pass loop(BlockSet set, String call) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        loop,
        call,
        Long.toString(serverPid),
        Integer.toString(set.blockBytes()),
        Integer.toString(set.partitions())));
    for (int map = 0; map < set.maps(); map++) {
      command.add(set.file(directory, map).toString());
    }
    double serverBefore = ProcessCpu.seconds(serverPid);
    String[] words = wordsOf(command);
    if (Long.parseLong(words[3]) != set.checksums()) {
      throw new IOException(call + " of " + set + " copied wrong bytes");
    }
    return new Pass(
        Long.parseLong(words[0]),
        Long.parseLong(words[1]) / 1e9,
        Long.parseLong(words[2]) / 1e9,
        ProcessCpu.seconds(serverPid) - serverBefore);
  }

  /** Runs a C program, and returns the words of the line that it prints. */
  static String[] wordsOf(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    try (BufferedReader said = process.inputReader()) {
      String line = said.readLine();
      if (line == null || process.waitFor() != 0) {
        throw new IOException(command.subList(0, 5) + " failed");
      }
      return line.split(" ", -1);
    }
  }

  /** What this host's link has received so far. */
  private long receivedBytes() throws IOException {
    return betweenHosts ? Long.parseLong(Files.readString(RECEIVED).strip()) : 0;
  }
}
