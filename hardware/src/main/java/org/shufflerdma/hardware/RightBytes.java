/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * Tests the mapping and access with which the plugin registers map outputs, and the bytes that
 * READs bring.
 */
final class RightBytes {
  static final String NAME = "bytes of a file";

  /** Blocks begin anywhere in a page. */
  static final long WITHIN_A_PAGE = 1000;

  private static final long BUDGET_NS = TimeUnit.SECONDS.toNanos(5);

  private RightBytes() {}

  static void prove(Bench bench) throws IOException {
    TestFile file = bench.file();
    try (Reader reader = bench.openReader();
        MappedFile mapped = MappedFile.open(file.path());
        MemoryRegion region = bench.register(mapped)) {
      prove(bench.report(), NAME, reader, RemoteMemory.of(region), file.bytes());
    }
  }

  /** READs as much of a registered file as the time allows, and compares it. */
  static void prove(Report report, String name, Reader reader, RemoteMemory remote, TestBytes bytes)
      throws IOException {
    long start = System.nanoTime();
    long checked = 0;
    int last = (int) Math.min(remote.length(), Reader.CHUNK_BYTES);
    List<Long> offsets = new ArrayList<>(List.of(remote.length() - last, WITHIN_A_PAGE));
    for (long at = 0; at + last < remote.length(); at += last) {
      offsets.add(at);
    }
    for (long offset : offsets) {
      if (!bytes.are(reader.read(remote, offset, last), offset)) {
        report.needed(
            name,
            Verdict.FAILED,
            "a READ of " + last + " bytes at " + offset
                + " of the file brought other bytes than it has");
        return;
      }
      checked += offset == WITHIN_A_PAGE ? 0 : last;
      if (System.nanoTime() - start > BUDGET_NS) {
        break;
      }
    }
    report.needed(
        name,
        Verdict.PROVEN,
        Bench.mebibytes(checked)
            + " MiB of a file of " + Bench.mebibytes(remote.length())
            + " MiB, registered as the plugin does, were READ and are right");
  }
}
