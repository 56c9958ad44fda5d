/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * Compares on-demand paging with pinning, if the device has it. The plugin pins and does not need
 * it.
 */
final class OnDemand {
  static final String NAME = "on-demand paging";

  private static final long MOST_BYTES = 64 * Bench.MEBIBYTE;

  private OnDemand() {}

  /**
   * @param pinnedMsPerGib what registration takes without it; NaN is unknown
   */
  static void measure(Bench bench, double pinnedMsPerGib) throws IOException {
    Report report = bench.report();
    if (!bench.links().info().odp()) {
      report.optional(
          NAME, Verdict.NOT_PROVEN, "the device does not offer it; the plugin pins and needs none");
      return;
    }
    TestFile file = bench.file();
    try (Reader reader = bench.openReader();
        MappedFile mapped = MappedFile.open(file.path())) {
      long start = System.nanoTime();
      try (MemoryRegion region =
          bench.domain().register(mapped, 0, file.size(), Access.REMOTE_READ | Access.ON_DEMAND)) {
        double ms = (System.nanoTime() - start) / 1e6;
        double pinnedMs = pinnedMsPerGib * (file.size() / Bench.GIB);
        long bytes = Math.min(region.length(), MOST_BYTES);
        double first = reader.bandwidth(region, bytes) * 1e9 / 1e6;
        double second = reader.bandwidth(region, bytes) * 1e9 / 1e6;
        report.measurement(
            NAME,
            "registration " + Samples.number(ms) + " ms, pinned " + Samples.number(pinnedMs)
                + " ms; first READs " + Samples.number(first) + " MB/s, again "
                + Samples.number(second) + " MB/s",
            Json.object(
                "register_ms", ms,
                "pinned_register_ms", pinnedMs,
                "first_mb_per_s", first,
                "second_mb_per_s", second));
        long at = RightBytes.WITHIN_A_PAGE;
        boolean right =
            file.bytes().are(reader.read(RemoteMemory.of(region), at, Reader.CHUNK_BYTES), at);
        report.optional(
            NAME,
            right ? Verdict.PROVEN : Verdict.FAILED,
            right
                ? "READs bring the file's bytes"
                : "a READ of " + Reader.CHUNK_BYTES + " bytes at " + at
                    + " of the file brought other bytes than it has; the plugin pins");
      }
    }
  }
}
