/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.VerbsException;

/** Measures many regions at a time: the time to register each, and READs of random ones. */
final class ManyRegions implements AutoCloseable {
  static final String NAME = "many regions";

  private static final String MOST_NAME = "10000 regions";
  private static final int MOST = 10_000;
  private static final int[] COUNTS = {1, 10, 100, 1_000, MOST};
  private static final int PAGE_BYTES = 4096;
  private static final int LARGEST_PIECE_BYTES = 64 << 10;
  private static final long ROUND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long BUDGET_NS = TimeUnit.SECONDS.toNanos(20);

  private final Bench bench;
  private final int pieceBytes;
  private final Random random = new Random(1);
  private final List<MemoryRegion> regions = new ArrayList<>(MOST);
  private final List<Object> steps = new ArrayList<>();
  private final StringBuilder line = new StringBuilder();

  private ManyRegions(Bench bench, int pieceBytes) {
    this.bench = bench;
    this.pieceBytes = pieceBytes;
  }

  static void measure(Bench bench) throws IOException {
    long pages = bench.file().size() / MOST / PAGE_BYTES;
    Report report = bench.report();
    if (pages == 0) {
      report.optional(
          MOST_NAME,
          Verdict.NOT_PROVEN,
          "the file of " + Bench.mebibytes(bench.file().size())
              + " MiB has fewer pages; give a larger --size");
      return;
    }
    int pieceBytes = (int) Math.min(LARGEST_PIECE_BYTES, pages * PAGE_BYTES);
    try (Reader reader = bench.openReader();
        MappedFile mapped = MappedFile.open(bench.file().path());
        ManyRegions many = new ManyRegions(bench, pieceBytes)) {
      String obstacle = many.grow(mapped, reader);
      int registered = many.regions.size();
      many.tell(many.closeEach());
      report.optional(
          MOST_NAME,
          registered == MOST ? Verdict.PROVEN : Verdict.NOT_PROVEN,
          registered + " regions at a time" + (obstacle.isEmpty() ? "" : ": " + obstacle));
    }
  }

  /** Measures step by step; returns what stopped the measurement, or nothing. */
  private String grow(MappedFile mapped, Reader reader) throws IOException {
    long start = System.nanoTime();
    for (int count : COUNTS) {
      int before = regions.size();
      long from = System.nanoTime();
      try {
        while (regions.size() < count) {
          regions.add(bench
              .domain()
              .register(
                  mapped, (long) regions.size() * pieceBytes, pieceBytes, Access.REMOTE_READ));
        }
      } catch (VerbsException e) {
        return String.valueOf(e.getMessage());
      }
      double usEach = (System.nanoTime() - from) / 1e3 / (count - before);
      step(usEach, reader.randomReads(regions, pieceBytes, random, ROUND_NS));
      check(reader);
      if (System.nanoTime() - start > BUDGET_NS && count < MOST) {
        return "more would take longer than this measurement may";
      }
    }
    return "";
  }

  private void step(double registerUsEach, double readsPerSecond) {
    steps.add(Json.object(
        "regions",
        regions.size(),
        "register_us_each",
        registerUsEach,
        "reads_per_s",
        readsPerSecond,
        "mb_per_s",
        readsPerSecond * pieceBytes / 1e6));
    line.append(String.format(
        Locale.ROOT,
        "%s%d: %s us each, %s reads/s",
        line.isEmpty() ? "" : "; ",
        regions.size(),
        Samples.number(registerUsEach),
        Samples.number(readsPerSecond)));
  }

  private void check(Reader reader) throws IOException {
    int last = regions.size() - 1;
    if (!bench
        .file()
        .bytes()
        .are(
            reader.read(RemoteMemory.of(regions.get(last)), 0, pieceBytes),
            (long) last * pieceBytes)) {
      throw new IOException("a READ brought other bytes than the file has");
    }
  }

  private void tell(double deregisterUsEach) {
    Report report = bench.report();
    report.measurement(
        NAME,
        line + "; deregistration " + Samples.number(deregisterUsEach) + " us each; of "
            + pieceBytes / 1024 + " KiB, READ in random order",
        Json.object(
            "piece_bytes", pieceBytes, "steps", steps, "deregister_us_each", deregisterUsEach));
  }

  /** Deregisters all regions; returns the microseconds for each. */
  private double closeEach() throws IOException {
    int count = regions.size();
    long from = System.nanoTime();
    close();
    return (System.nanoTime() - from) / 1e3 / Math.max(1, count);
  }

  @Override
  public void close() throws IOException {
    while (!regions.isEmpty()) {
      regions.remove(regions.size() - 1).close();
    }
  }
}
