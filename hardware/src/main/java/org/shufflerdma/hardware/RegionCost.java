/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/** Measures what it costs to register one region of a file, and each further MiB of it. */
final class RegionCost {
  static final String NAME = "one region";

  private static final int SMALL_BYTES = 4 << 10;
  private static final int LARGE_BYTES = 4 << 20;
  private static final int MOST_ROUNDS = 200;
  private static final long BUDGET_NS = TimeUnit.SECONDS.toNanos(2);

  private RegionCost() {}

  static void measure(Bench bench) throws IOException {
    try (MappedFile mapped = MappedFile.open(bench.file().path())) {
      Samples small = registrations(bench, mapped, SMALL_BYTES);
      Samples large = registrations(bench, mapped, LARGE_BYTES);
      double perMebibyte = (large.median() - small.median())
          / ((double) (LARGE_BYTES - SMALL_BYTES) / Bench.MEBIBYTE);
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("us_of_4_kib", small.json());
      json.put("us_of_4_mib", large.json());
      json.put("us_per_further_mib", perMebibyte);
      bench
          .report()
          .measurement(
              NAME,
              small + " us to register 4 KiB, " + large + " us for 4 MiB, hence "
                  + Samples.number(perMebibyte) + " us for each further MiB",
              json);
    }
  }

  /** Returns the microseconds of each registration of the file's first bytes. */
  private static Samples registrations(Bench bench, MappedFile mapped, int bytes)
      throws IOException {
    Samples us = new Samples();
    long start = System.nanoTime();
    for (int i = 0; i < MOST_ROUNDS && (i == 0 || System.nanoTime() - start < BUDGET_NS); i++) {
      long from = System.nanoTime();
      MemoryRegion region = bench.domain().register(mapped, 0, bytes, Access.REMOTE_READ);
      us.add((System.nanoTime() - from) / 1e3);
      region.close();
    }
    return us;
  }
}
