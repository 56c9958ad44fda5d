/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * Measures READs of a registered file by size and by how many are in progress, and beside them
 * answers of the same sizes over TCP from the same place.
 */
final class Speeds {
  static final String NAME = "READ and TCP, by size and by how many are in progress";

  private static final int[] SIZES = {64, 4 << 10, 64 << 10, 1 << 20, 4 << 20};
  private static final int[] DEPTHS = {1, 8, Reader.WINDOW};
  private static final long CELL_NS = TimeUnit.MILLISECONDS.toNanos(250);

  private Speeds() {}

  static void measure(Bench bench, InetAddress address) throws IOException {
    try (Reader reader = bench.openReader();
        MappedFile mapped = MappedFile.open(bench.file().path());
        MemoryRegion region = bench.register(mapped);
        TcpSource source = TcpSource.open(new InetSocketAddress(address, 0), TcpSource.NO_TOKEN);
        TcpReader tcp =
            TcpReader.open(source.address(), TcpSource.NO_TOKEN, TcpReader.PATIENCE_MS)) {
      measure(bench.report(), NAME, reader, RemoteMemory.of(region), tcp);
    }
  }

  static void measure(Report report, String name, Reader reader, RemoteMemory remote, TcpReader tcp)
      throws IOException {
    List<String> rows = new ArrayList<>(List.of(
        "              READ                              TCP",
        "size   depth  p50 us    p99 us    MB/s          p50 us    p99 us    MB/s"));
    List<Map<String, Object>> cells = new ArrayList<>();
    // The first calls are slow until the JVM has compiled what they use.
    reader.timed(remote, SIZES[0], Reader.WINDOW, CELL_NS);
    tcp.timed(SIZES[0], Reader.WINDOW, CELL_NS);
    for (int size : SIZES) {
      for (int depth : DEPTHS) {
        Latencies read = reader.timed(remote, size, depth, CELL_NS);
        Latencies compared = tcp.timed(size, depth, CELL_NS);
        rows.add(String.format(
            Locale.ROOT, "%-7s%-7d%s    %s", name(size), depth, columns(read), columns(compared)));
        cells.add(Json.object(
            "bytes", size, "depth", depth, "read", read.json(), "tcp", compared.json()));
      }
    }
    report.table(name, rows, cells);
  }

  private static String name(int bytes) {
    return bytes < 1 << 10
        ? bytes + " B"
        : bytes < 1 << 20 ? (bytes >> 10) + " K" : (bytes >> 20) + " M";
  }

  private static String columns(Latencies latencies) {
    return String.format(
        Locale.ROOT,
        "%-10s%-10s%-10s",
        Samples.number(latencies.us(50)),
        Samples.number(latencies.us(99)),
        Samples.number(latencies.mbPerS()));
  }
}
