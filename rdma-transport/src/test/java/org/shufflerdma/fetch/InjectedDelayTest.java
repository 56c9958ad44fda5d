/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/**
 * An owner and a task that reads one block, in a process of their own, whose device delays one step: the
 * histogram of that step has the delay, and those of the others are asked for their counts alone.
 */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class InjectedDelayTest {
  private static final int BLOCK_BYTES = 5 << 20;
  private static final int DELAY_MS = 400;

  @TempDir
  Path directory;

  private Jvm start(String fault) throws Exception {
    return Jvm.start(
        Map.of("SOFTVERBS_FAULT", fault + ",delay=" + DELAY_MS),
        InjectedDelayTest.class,
        directory.toString());
  }

  /** A line has count and microseconds. */
  private static long micros(Jvm jvm, String phase, long count) throws Exception {
    String[] words = jvm.awaitLine(phase + " ").split(" ", 2);
    assertThat(Long.parseLong(words[0])).as("count of %s", phase).isEqualTo(count);
    return Long.parseLong(words[1]);
  }

  private static void assertDelayed(long micros) {
    assertThat(micros).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toMicros(DELAY_MS));
  }

  @Test
  void aSlowRegistrationIsOneOfAMapOutput() throws Exception {
    try (Jvm jvm = start("reg_mr:min_length=" + BLOCK_BYTES)) {
      assertDelayed(micros(jvm, "registration", 1));
    }
  }

  @Test
  void aSlowHandshakeIsTimeOfTheConnectAndOfWhoWaitsForIt() throws Exception {
    try (Jvm jvm = start("cm_event:type=CONNECT_RESPONSE")) {
      assertDelayed(micros(jvm, "connect", 1));
      assertDelayed(micros(jvm, "connection", 1));
      assertThat(micros(jvm, "task's connection", 1)).isPositive();
    }
  }

  @Test
  void aSlowReadIsTimeOfItsSizeAndOfTheTaskThatWaitsForIt() throws Exception {
    try (Jvm jvm = start("completion:opcode=READ,min_length=" + BLOCK_BYTES)) {
      assertDelayed(micros(jvm, "read over 1 MiB", 1));
      assertThat(micros(jvm, "task's read", 1)).isPositive();
    }
  }

  /** The argument is a directory. */
  public static void main(String[] arguments) throws Exception {
    Path file = Files.write(Path.of(arguments[0], "output"), new byte[BLOCK_BYTES]);
    long[] lengths = {BLOCK_BYTES};
    try (RdmaTransport owner = TestTransports.open("owner");
        RegisteredArena arena = TestTransports.arena(owner);
        MapOutputRegistry registry = new MapOutputRegistry(
            owner.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
        RdmaTransport reader = TestTransports.open("reader");
        BlockFetcher fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, 60_000))) {
      PublishedOutput output = registry.publish(
          new MapOutputFile(1, 0, file, lengths, PartitionChecksums.compute(file, lengths)));
      say("registration", registry.registrationTimes());
      PeerBlocks blocks = new PeerBlocks(TestTransports.peerOf("owner", owner), null);
      blocks.add(
          new DescriptorRef(
              output.descriptorAddress(), output.descriptorRkey(), output.generation(), 1, 0, 1),
          0,
          1);
      TaskTimes times = read(fetcher, blocks);
      TransportStats stats = reader.stats();
      say("connect", stats.connectTimes);
      say("connection", stats.connectionWaits);
      say("task's connection", times, TaskTime.CONNECTION);
      say("read over 1 MiB", stats.longReadTimes);
      say("task's read", times, TaskTime.READ);
    }
  }

  private static TaskTimes read(BlockFetcher fetcher, PeerBlocks blocks) throws Exception {
    DirectFetch.Limits limits = new DirectFetch.Limits(48 << 20, 100, 10_000);
    try (DirectFetch fetch = fetcher.direct(List.of(blocks), limits, () -> {})) {
      if (!fetch.next() || fetch.next()) {
        throw new IllegalStateException("one block was to come, and left were " + fetch.left());
      }
      return fetch.times();
    }
  }

  private static void say(String phase, LatencyHistogram times) {
    System.out.println(
        phase + " " + times.count() + " " + TimeUnit.NANOSECONDS.toMicros(times.totalNs()));
  }

  private static void say(String phase, TaskTimes times, TaskTime by) {
    System.out.println(phase + " 1 " + TimeUnit.NANOSECONDS.toMicros(times.ns(by)));
  }
}
