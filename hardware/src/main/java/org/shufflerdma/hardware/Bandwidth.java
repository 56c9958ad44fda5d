/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;

/** Compares READs of a file's region with READs of anonymous memory, in turns. */
final class Bandwidth {
  static final String NAME = "READ bandwidth, MB/s";

  private static final int ROUNDS = 5;
  private static final long ROUND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long PROBE_BYTES = 4 * Bench.MEBIBYTE;

  private Bandwidth() {}

  static void measure(Bench bench) throws IOException {
    long size = bench.file().size();
    try (Reader reader = bench.openReader();
        MappedFile mapped = MappedFile.open(bench.file().path());
        NativeMemory small = NativeMemory.allocate(size, false);
        NativeMemory huge = NativeMemory.allocate(size, true);
        MemoryRegion ofFile = bench.register(mapped);
        MemoryRegion ofSmall = bench.domain().register(small.address(), size, Access.REMOTE_READ);
        MemoryRegion ofHuge = bench.domain().register(huge.address(), size, Access.REMOTE_READ)) {
      Map<String, MemoryRegion> regions = new LinkedHashMap<>();
      regions.put("file", ofFile);
      regions.put("anonymous", ofSmall);
      regions.put("anonymous_huge_pages", ofHuge);
      long bytes = affordable(reader, ofFile);
      Map<String, Samples> speeds = new LinkedHashMap<>();
      for (int round = 0; round < ROUNDS; round++) {
        for (Map.Entry<String, MemoryRegion> entry : regions.entrySet()) {
          double perNs = reader.bandwidth(entry.getValue(), bytes);
          speeds.computeIfAbsent(entry.getKey(), kind -> new Samples()).add(perNs * 1e9 / 1e6);
        }
      }
      tell(bench.report(), bytes, speeds);
    }
  }

  /** Returns how much of a region READs bring in about the time of a round. */
  private static long affordable(Reader reader, MemoryRegion region) throws IOException {
    long probe = Math.min(region.length(), PROBE_BYTES);
    double perNs = reader.bandwidth(region, probe);
    return Math.max(probe, Math.min(region.length(), (long) (perNs * ROUND_NS)));
  }

  private static void tell(Report report, long bytes, Map<String, Samples> speeds) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("bytes_per_round", bytes);
    json.put("read_bytes", Math.min(bytes, Reader.CHUNK_BYTES));
    StringBuilder line = new StringBuilder();
    speeds.forEach((kind, samples) -> {
      json.put(kind + "_mb_per_s", samples.json());
      line.append(line.isEmpty() ? "" : "; ")
          .append(kind.replace('_', ' '))
          .append(' ')
          .append(samples);
    });
    report.measurement(
        NAME,
        line + "; " + Bench.mebibytes(bytes) + " MiB a round, READs of 1 MiB, loopback",
        json);
  }
}
