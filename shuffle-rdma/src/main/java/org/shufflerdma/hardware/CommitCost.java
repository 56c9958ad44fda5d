/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.plugin.DeviceTrial;

/**
 * What it costs to publish a map output: a file is written and committed as Spark does it, and not
 * published, published at once, or published only when the disk has it; in turns. Prints a line per
 * size and way. See docs/decisions/0009.
 */
public final class CommitCost {
  private enum Way {
    NOT,
    AT_COMMIT,
    LATER
  }

  private static final int SHUFFLE = 0;
  private static final int PARTITIONS = 200;
  private static final int BUFFER_BYTES = 32 << 10;
  private static final int MINOR_BITS = 20;
  private static final int SECTOR_BYTES = 512;
  private static final long MEBIBYTE = 1 << 20;
  private static final int[] MEBIBYTES = {1, 16, 128, 512};
  private static final int ROUNDS = 5;

  private final Options options;
  private final MapOutputRegistry registry;
  private final PrintStream out;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);

  /** Of one way: time and CPU of the write and of the publication, bytes that reached the disk. */
  private record Costs(
      Samples writeMs, Samples writeCpuMs, Samples publishMs, Samples publishCpuMs, Samples disk) {
    Costs() {
      this(new Samples(), new Samples(), new Samples(), new Samples(), new Samples());
    }
  }

  private CommitCost(Options options, MapOutputRegistry registry, PrintStream out) {
    this.options = options;
    this.registry = registry;
    this.out = out;
  }

  public static void main(String[] args) throws IOException {
    try {
      Options options = Options.parse(args);
      RdmaSettings settings = RdmaSettings.from(options.settings());
      DeviceTrial trial = DeviceTrial.choose(settings);
      try (Links links = Links.open(trial.address());
          RegisteredArena arena = new RegisteredArena(
              links.domain(), new RegistrationBudget(trial.outputBytes(), "a trial"));
          MapOutputRegistry registry = new MapOutputRegistry(
              links.domain(), arena, new DescriptorSeal(new byte[] {1}), 0, System::nanoTime)) {
        new CommitCost(options, registry, System.out).run(links.info().name());
      }
    } catch (RefusedException | InvalidSettingException | NotPublishedException e) {
      System.err.println("commit-cost: " + e.getMessage());
      System.exit(2);
    }
  }

  private void run(String device) throws IOException, NotPublishedException {
    HostFacts host = new HostFacts(Path.of("/"));
    out.println("kernel " + host.kernel() + ", device " + device + ", "
        + host.mountOf(options.directory()).type() + ", " + ROUNDS + " rounds in turns");
    out.println("MiB | published | write ms | CPU ms | publish ms | CPU ms | MiB to disk");
    for (int mebibytes : MEBIBYTES) {
      if (mebibytes * MEBIBYTE > options.sizeBytes()) {
        break;
      }
      Map<Way, Costs> costs = new EnumMap<>(Way.class);
      for (int round = -1; round < ROUNDS; round++) {
        for (Way way : Way.values()) {
          // The first round warms up.
          Costs sums = round < 0 ? new Costs() : costs.computeIfAbsent(way, unused -> new Costs());
          commit(mebibytes * MEBIBYTE, way, sums);
        }
      }
      costs.forEach((way, sums) -> out.println(String.join(
          " | ",
          Integer.toString(mebibytes),
          way.name().toLowerCase(Locale.ROOT).replace('_', ' '),
          sums.writeMs().toString(),
          sums.writeCpuMs().toString(),
          way == Way.NOT ? "" : sums.publishMs().toString(),
          way == Way.NOT ? "" : sums.publishCpuMs().toString(),
          sums.disk().toString())));
    }
  }

  private void commit(long bytes, Way way, Costs costs) throws IOException, NotPublishedException {
    Path temporary = options.directory().resolve("commit-cost.tmp");
    Path data = options.directory().resolve("commit-cost.data");
    long diskBefore = bytesToDisk();
    Usage before = Usage.atStart();
    write(temporary, bytes);
    Files.move(temporary, data, StandardCopyOption.ATOMIC_MOVE);
    Usage written = Usage.atEnd();
    try (FileChannel channel = FileChannel.open(data, StandardOpenOption.WRITE)) {
      if (way == Way.LATER) {
        channel.force(true);
      }
      @Nullable PublishedOutput output = way == Way.NOT ? null : publish(data, bytes, costs);
      channel.force(true);
      if (output != null) {
        registry.retract(SHUFFLE, output);
        channel.force(true);
      }
    } finally {
      Files.delete(data);
    }
    Usage of = written.since(before);
    costs.writeMs().add(ms(of.wallNs()));
    costs.writeCpuMs().add(ms(of.cpuNs()));
    costs.disk().add((double) (bytesToDisk() - diskBefore) / MEBIBYTE);
  }

  private PublishedOutput publish(Path data, long bytes, Costs costs)
      throws NotPublishedException, IOException {
    long[] lengths = new long[PARTITIONS];
    lengths[0] = bytes;
    Usage before = Usage.atStart();
    PublishedOutput output =
        registry.publish(new MapOutputFile(SHUFFLE, 0, data, lengths, PartitionChecksums.none()));
    Usage of = Usage.atEnd().since(before);
    costs.publishMs().add(ms(of.wallNs()));
    costs.publishCpuMs().add(ms(of.cpuNs()));
    return output;
  }

  private void write(Path file, long bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(
        file,
        StandardOpenOption.CREATE,
        StandardOpenOption.WRITE,
        StandardOpenOption.TRUNCATE_EXISTING)) {
      for (long left = bytes; left > 0; ) {
        buffer.clear().limit((int) Math.min(left, BUFFER_BYTES));
        left -= channel.write(buffer);
      }
    }
  }

  /** What the directory's block device has been given so far; 0 where it has none. */
  private long bytesToDisk() throws IOException {
    long device = (Long) Files.getAttribute(options.directory(), "unix:dev");
    // glibc's gnu_dev_major and gnu_dev_minor, for numbers below 4096 and 2^20.
    long major = (device >>> 8) & 0xFFF;
    long minor = (device & 0xFF) | ((device >>> 12) & ((1 << MINOR_BITS) - 256));
    Path stat = Path.of("/sys/dev/block/" + major + ":" + minor + "/stat");
    return Files.exists(stat)
        ? Long.parseLong(Proc.text(stat).split("\\s+", -1)[6]) * SECTOR_BYTES
        : 0;
  }

  private static double ms(long ns) {
    return (double) ns / TimeUnit.MILLISECONDS.toNanos(1);
  }
}
