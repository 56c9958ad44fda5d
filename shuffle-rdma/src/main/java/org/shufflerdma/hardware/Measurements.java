/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.VerbsException;
import org.shufflerdma.verbs.WcStatus;

/**
 * What is measured on one device with one file. Each measurement is bounded: what is slow is
 * measured on less. Of one thread.
 */
final class Measurements {
  private static final int ROUNDS = 5;
  private static final double GIB = 1 << 30;
  private static final long MEBIBYTE = 1 << 20;
  private static final long ROUND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long REGISTRATION_BUDGET_NS = TimeUnit.SECONDS.toNanos(20);
  private static final long LONGEST_SILENCE_NS = TimeUnit.SECONDS.toNanos(120);
  private static final int[] REGION_COUNTS = {1, 10, 100, 1_000, 10_000};
  private static final int PAGE_BYTES = 4096;
  private static final int LARGEST_PIECE_BYTES = 64 << 10;

  private final Report report;
  private final Links links;
  private final ConnectionSettings settings;
  private final TestFile file;
  private final Reader reader;
  private final Random random = new Random(1);

  Measurements(
      Report report, Links links, ConnectionSettings settings, TestFile file, Reader reader) {
    this.report = report;
    this.links = links;
    this.settings = settings;
    this.file = file;
    this.reader = reader;
  }

  private ProtectionDomain domain() {
    return links.domain();
  }

  /** The combination that the plugin registers map outputs with, and the bytes that READs bring. */
  void rightBytes() throws IOException {
    try (MappedFile mapped = MappedFile.open(file.path());
        MemoryRegion region = domain().register(mapped, 0, file.size(), Access.REMOTE_READ)) {
      long start = System.nanoTime();
      long checked = 0;
      int last = (int) Math.min(file.size(), Reader.CHUNK_BYTES);
      List<Long> offsets = new ArrayList<>(List.of(file.size() - last));
      for (long at = 0; at + last < file.size(); at += last) {
        offsets.add(at);
      }
      for (long offset : offsets) {
        ByteBuffer bytes = reader.read(region, offset, last);
        if (!file.holds(bytes, offset)) {
          report.needed(
              "bytes of a file",
              Verdict.FAILED,
              "a READ of " + last + " bytes at " + offset + " of " + file.path()
                  + " brought other bytes than the file has");
          return;
        }
        checked += last;
        if (System.nanoTime() - start > 5 * ROUND_NS) {
          break;
        }
      }
      report.needed(
          "bytes of a file",
          Verdict.PROVEN,
          mebibytes(checked)
              + " MiB of a file of " + mebibytes(file.size())
              + " MiB, registered as the plugin does, were READ and are right");
    }
  }

  /** Milliseconds and CPU of registering a file that is in the page cache; what gets dirty. */
  double registration() throws IOException {
    long bytes = file.size();
    Samples wall = new Samples();
    Samples cpu = new Samples();
    Samples back = new Samples();
    Samples backCpu = new Samples();
    long dirtied = 0;
    long systemDirty = 0;
    boolean touched = false;
    long start = System.nanoTime();
    for (int round = 0; round < ROUNDS; round++) {
      file.clean();
      try (MappedFile mapped = MappedFile.open(file.path())) {
        FileTime modified = Files.getLastModifiedTime(file.path());
        Usage before = Usage.now();
        MemoryRegion region = domain().register(mapped, 0, bytes, Access.REMOTE_READ);
        Usage registered = Usage.now();
        region.close();
        Usage after = Usage.now();
        Usage made = registered.since(before);
        Usage undone = after.since(registered);
        wall.add(made.wallNs() / 1e6 / (bytes / GIB));
        cpu.add(made.cpuNs() / 1e9 / (bytes / GIB));
        back.add(undone.wallNs() / 1e6 / (bytes / GIB));
        backCpu.add(undone.cpuNs() / 1e9 / (bytes / GIB));
        dirtied = Math.max(dirtied, made.dirtiedBytes());
        systemDirty = Math.max(systemDirty, made.systemDirtyBytes());
        touched |= !modified.equals(Files.getLastModifiedTime(file.path()));
      }
      if (System.nanoTime() - start > REGISTRATION_BUDGET_NS) {
        break;
      }
    }
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("bytes", bytes);
    json.put("register_ms_per_gib", wall.json());
    json.put("register_cpu_s_per_gib", cpu.json());
    json.put("deregister_ms_per_gib", back.json());
    json.put("deregister_cpu_s_per_gib", backCpu.json());
    json.put("dirtied_bytes", dirtied);
    json.put("system_dirty_bytes_more", systemDirty);
    json.put("modification_time_changed", touched);
    report.measurement(
        "registration of a file",
        wall + " ms/GiB, CPU " + cpu + " s/GiB; deregistration " + back + " ms/GiB, CPU " + backCpu
            + " s/GiB; " + mebibytes(bytes) + " MiB in the page cache, " + wall.count() + " rounds",
        json);
    report.measurement(
        "made dirty by it",
        mebibytes(dirtied) + " MiB of " + mebibytes(bytes) + " by this process, "
            + mebibytes(Math.max(0, systemDirty)) + " MiB more in the system"
            + (dirtied * 2 > bytes
                ? ": this kernel writes what is registered to disk again (6.1 and older)"
                : ""),
        Map.of("dirtied_bytes", dirtied, "bytes", bytes));
    return wall.median();
  }

  /** READs of a file's region against regions of anonymous memory, in turns. */
  void bandwidth() throws IOException {
    try (MappedFile mapped = MappedFile.open(file.path());
        NativeMemory small = NativeMemory.allocate(file.size(), false);
        NativeMemory huge = NativeMemory.allocate(file.size(), true);
        MemoryRegion ofFile = domain().register(mapped, 0, file.size(), Access.REMOTE_READ);
        MemoryRegion ofSmall =
            domain().register(small.address(), small.size(), Access.REMOTE_READ);
        MemoryRegion ofHuge = domain().register(huge.address(), huge.size(), Access.REMOTE_READ)) {
      Map<String, MemoryRegion> regions = new LinkedHashMap<>();
      regions.put("file", ofFile);
      regions.put("anonymous", ofSmall);
      regions.put("anonymous_huge_pages", ofHuge);
      long bytes = affordable(ofFile);
      Map<String, Samples> speeds = new LinkedHashMap<>();
      for (int round = 0; round < ROUNDS; round++) {
        for (Map.Entry<String, MemoryRegion> entry : regions.entrySet()) {
          double perNs = reader.bandwidth(entry.getValue(), bytes);
          speeds.computeIfAbsent(entry.getKey(), kind -> new Samples()).add(perNs * 1e9 / 1e6);
        }
      }
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
          "READ bandwidth, MB/s",
          line + "; " + mebibytes(bytes) + " MiB a round, READs of 1 MiB, loopback",
          json);
    }
  }

  /** How much of a region READs bring in about a round's time. */
  private long affordable(MemoryRegion region) throws IOException {
    long probe = Math.min(region.length(), 4 * MEBIBYTE);
    double perNs = reader.bandwidth(region, probe);
    return Math.max(probe, Math.min(region.length(), (long) (perNs * ROUND_NS)));
  }

  /** Many regions at a time: the time of each, and READs of random ones. */
  void manyRegions() throws IOException {
    int most = REGION_COUNTS[REGION_COUNTS.length - 1];
    int piece = (int) Math.min(LARGEST_PIECE_BYTES, file.size() / most / PAGE_BYTES * PAGE_BYTES);
    if (piece == 0) {
      report.optional(
          "10000 regions",
          Verdict.NOT_PROVEN,
          "the file of " + mebibytes(file.size())
              + " MiB has not as many pages; give a larger --size");
      return;
    }
    MemoryRegion[] regions = new MemoryRegion[most];
    int registered = 0;
    List<Object> steps = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    String obstacle = "";
    long start = System.nanoTime();
    try (MappedFile mapped = MappedFile.open(file.path())) {
      try {
        for (int count : REGION_COUNTS) {
          int before = registered;
          long from = System.nanoTime();
          while (registered < count) {
            regions[registered] =
                domain().register(mapped, (long) registered * piece, piece, Access.REMOTE_READ);
            registered++;
          }
          double usEach = (System.nanoTime() - from) / 1e3 / Math.max(1, registered - before);
          double reads = reader.randomReads(regions, count, piece, random, ROUND_NS);
          check(regions[count - 1], (long) (count - 1) * piece, piece);
          Map<String, Object> step = new LinkedHashMap<>();
          step.put("regions", count);
          step.put("register_us_each", usEach);
          step.put("reads_per_s", reads);
          step.put("mb_per_s", reads * piece / 1e6);
          steps.add(step);
          line.append(String.format(
              Locale.ROOT,
              "%s%d: %s us each, %s reads/s",
              line.isEmpty() ? "" : "; ",
              count,
              Samples.number(usEach),
              Samples.number(reads)));
          if (System.nanoTime() - start > REGISTRATION_BUDGET_NS && count < most) {
            obstacle = "more would take longer than this measurement may";
            break;
          }
        }
      } catch (VerbsException e) {
        obstacle = e.getMessage() == null ? e.toString() : e.getMessage();
      }
      long from = System.nanoTime();
      for (int i = 0; i < registered; i++) {
        regions[i].close();
      }
      double usEach = (System.nanoTime() - from) / 1e3 / Math.max(1, registered);
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("piece_bytes", piece);
      json.put("steps", steps);
      json.put("deregister_us_each", usEach);
      report.measurement(
          "many regions",
          line + "; deregistration " + Samples.number(usEach) + " us each; of " + piece / 1024
              + " KiB, READ in random order",
          json);
    }
    report.optional(
        "10000 regions",
        registered == most ? Verdict.PROVEN : Verdict.NOT_PROVEN,
        registered + " regions at a time" + (obstacle.isEmpty() ? "" : ": " + obstacle));
  }

  private void check(MemoryRegion region, long fileOffset, int bytes) throws IOException {
    if (!file.holds(reader.read(region, 0, bytes), fileOffset)) {
      report.needed(
          "bytes of many regions", Verdict.FAILED, "a READ brought other bytes than the file has");
    }
  }

  /** On-demand paging against pinning, where the device has it. */
  void onDemand(double pinnedMsPerGib) throws IOException {
    String name = "on-demand paging";
    if (!links.info().odp()) {
      report.optional(
          name, Verdict.NOT_PROVEN, "the device does not offer it; the plugin pins and needs none");
      return;
    }
    try (MappedFile mapped = MappedFile.open(file.path())) {
      long start = System.nanoTime();
      try (MemoryRegion region =
          domain().register(mapped, 0, file.size(), Access.REMOTE_READ | Access.ON_DEMAND)) {
        double ms = (System.nanoTime() - start) / 1e6;
        long bytes = Math.min(region.length(), 64 * MEBIBYTE);
        double first = reader.bandwidth(region, bytes) * 1e9 / 1e6;
        double second = reader.bandwidth(region, bytes) * 1e9 / 1e6;
        boolean right = file.holds(reader.read(region, 0, Reader.CHUNK_BYTES), 0);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("register_ms", ms);
        json.put("pinned_register_ms", pinnedMsPerGib * (file.size() / GIB));
        json.put("first_mb_per_s", first);
        json.put("second_mb_per_s", second);
        report.measurement(
            name,
            "registration " + Samples.number(ms) + " ms, pinned "
                + Samples.number(pinnedMsPerGib * (file.size() / GIB)) + " ms; first READs "
                + Samples.number(first) + " MB/s, again " + Samples.number(second) + " MB/s",
            json);
        report.optional(
            name,
            right ? Verdict.PROVEN : Verdict.FAILED,
            right
                ? "READs bring the file's bytes"
                : "a READ brought other bytes than the file has");
      }
    } catch (VerbsException e) {
      report.optional(name, Verdict.NOT_PROVEN, "the device offers it, but: " + e.getMessage());
    }
  }

  /**
   * How long a READ goes unanswered until the device says so, when the peer's queue pair is gone:
   * with one retry, and with as many as the plugin has; seconds of the latter, 0 if it says nothing.
   */
  double deadPeer() throws IOException {
    Unanswered once = unanswered(1, LONGEST_SILENCE_NS);
    long expectedNs = (long) (once.seconds() * 1e9 * (settings.retryCount() + 1) / 2);
    Unanswered full = once.status() == Reader.NONE
        ? once
        : unanswered(
            settings.retryCount(), Math.min(LONGEST_SILENCE_NS, 2 * expectedNs + ROUND_NS));
    report.measurement(
        "dead peer",
        once + " with 1 retry, " + full + " with the plugin's " + settings.retryCount(),
        Map.of("one_retry", once.json(), "plugins_retries", full.json()));
    if (full.status() == Reader.NONE) {
      report.optional(
          "dead peer",
          Verdict.NOT_PROVEN,
          "the device does not give a READ up that nobody answers, as soft-RoCE with 7 retries: the"
              + " plugin's own timeouts must");
      return 0;
    }
    boolean told = full.status() != WcStatus.SUCCESS;
    report.optional(
        "dead peer",
        told ? Verdict.PROVEN : Verdict.FAILED,
        "a READ of a queue pair that is gone ends with " + WcStatus.name(full.status()));
    return full.seconds();
  }

  private Unanswered unanswered(int retries, long patienceNs) throws IOException {
    Links.Link link = links.connect(new ConnectionSettings(
        settings.typeOfService(),
        settings.ackTimeout(),
        retries,
        settings.rnrRetryCount(),
        settings.maxRdAtomic(),
        settings.mtuBytes()));
    try (MappedFile mapped = MappedFile.open(file.path());
        MemoryRegion region = domain().register(mapped, 0, PAGE_BYTES, Access.REMOTE_READ);
        Reader lonely = Reader.open(link, domain())) {
      link.served().close();
      long start = System.nanoTime();
      int status = lonely.statusOfUnanswered(region, patienceNs);
      double seconds = (System.nanoTime() - start) / 1e9;
      link.reader().close();
      return new Unanswered(seconds, status);
    }
  }

  /**
   * @param status {@link WcStatus}, or NONE if there was no completion
   */
  private record Unanswered(double seconds, int status) {
    private String outcome() {
      return status == Reader.NONE ? "no completion" : WcStatus.name(status);
    }

    Map<String, Object> json() {
      return Map.of("seconds", seconds, "status", outcome());
    }

    @Override
    public String toString() {
      return Samples.number(seconds) + " s until " + outcome();
    }
  }

  private static String mebibytes(long bytes) {
    return bytes % MEBIBYTE == 0
        ? Long.toString(bytes / MEBIBYTE)
        : Samples.number((double) bytes / MEBIBYTE);
  }
}
