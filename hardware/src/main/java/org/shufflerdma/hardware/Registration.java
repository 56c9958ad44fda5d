/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * Measures the time and CPU of registering a file that is in the page cache, and how much of it
 * becomes dirty.
 */
final class Registration {
  static final String NAME = "registration of a file";

  private static final int ROUNDS = 5;
  private static final long BUDGET_NS = TimeUnit.SECONDS.toNanos(20);

  private final Bench bench;
  private final double gib;
  private final Samples wall = new Samples();
  private final Samples cpu = new Samples();
  private final Samples back = new Samples();
  private final Samples backCpu = new Samples();
  private long dirtied;
  private long systemDirty;
  private boolean touched;

  Registration(Bench bench) {
    this.bench = bench;
    this.gib = bench.file().size() / Bench.GIB;
  }

  void measure() throws IOException {
    long start = System.nanoTime();
    for (int i = 0; i < ROUNDS && System.nanoTime() - start <= BUDGET_NS; i++) {
      round();
    }
    tell();
  }

  /** Returns the measured value; NaN if nothing was measured. */
  double medianMsPerGib() {
    return wall.count() == 0 ? Double.NaN : wall.median();
  }

  private void round() throws IOException {
    TestFile file = bench.file();
    file.clean();
    try (MappedFile mapped = MappedFile.open(file.path())) {
      FileTime modified = Files.getLastModifiedTime(file.path());
      Usage before = Usage.atStart();
      MemoryRegion region = bench.register(mapped);
      Usage registered;
      Usage closing;
      try {
        registered = Usage.atEnd();
        closing = Usage.atStart();
      } finally {
        region.close();
      }
      Usage made = registered.since(before);
      Usage undone = Usage.atEnd().since(closing);
      wall.add(made.wallNs() / 1e6 / gib);
      cpu.add(made.cpuNs() / 1e9 / gib);
      back.add(undone.wallNs() / 1e6 / gib);
      backCpu.add(undone.cpuNs() / 1e9 / gib);
      dirtied = Math.max(dirtied, made.dirtiedBytes());
      systemDirty = Math.max(systemDirty, made.systemDirtyBytes());
      touched |= !modified.equals(Files.getLastModifiedTime(file.path()));
    }
  }

  private void tell() {
    long bytes = bench.file().size();
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("bytes", bytes);
    json.put("register_ms_per_gib", wall.json());
    json.put("register_cpu_s_per_gib", cpu.json());
    json.put("deregister_ms_per_gib", back.json());
    json.put("deregister_cpu_s_per_gib", backCpu.json());
    json.put("dirtied_bytes", dirtied);
    json.put("system_dirty_bytes_more", systemDirty);
    json.put("modification_time_changed", touched);
    String size = Bench.mebibytes(bytes);
    Report report = bench.report();
    report.measurement(
        NAME,
        wall + " ms/GiB, CPU " + cpu + " s/GiB; deregistration " + back + " ms/GiB, CPU "
            + backCpu + " s/GiB; " + size + " MiB in the page cache, " + wall.count()
            + " rounds",
        json);
    report.measurement(
        "made dirty by it",
        Bench.mebibytes(dirtied) + " MiB of " + size + " by this process, "
            + Bench.mebibytes(Math.max(0, systemDirty)) + " MiB more in the system"
            + (dirtied * 2 > bytes
                ? ": this kernel writes what is registered to disk again (6.1 and older)"
                : ""),
        Map.of("dirtied_bytes", dirtied, "bytes", bytes));
  }
}
