/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A registry, in a process of its own, whose device does not deregister the first output. */
@Timeout(60)
@OnSoftDevice("faults are asked of it")
class FailedDeregistrationTest {
  private static final int PAGE = 4096;

  @TempDir
  Path directory;

  @Test
  void whatStaysRegisteredStillCounts() throws Exception {
    Map<String, String> environment =
        Map.of("SOFTVERBS_FAULT", "dereg_mr:errno=EBUSY,min_length=" + 4 * PAGE);
    try (Jvm jvm = Jvm.start(environment, FailedDeregistrationTest.class, directory.toString())) {
      assertThat(jvm.awaitLine("the last is refused: ")).isEqualTo("BUDGET");
    }
  }

  /**
   * Of eight pages for outputs, the first has four and keeps them for good, and the second has the others. The
   * argument is a directory.
   */
  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    try (RdmaTransport transport = TestTransports.open("1");
        RegisteredArena arena = TestTransports.arena(transport, 10 * PAGE)) {
      arena.allocate(1).close(); // a chunk for descriptors takes two of ten
      MapOutputRegistry registry = new MapOutputRegistry(
          transport.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
      registry.publish(output(directory, 1, 4 * PAGE));
      registry.publish(output(directory, 2, 4 * PAGE));
      registry.removeShuffle(1);
      TimeUnit.MILLISECONDS.sleep(500); // time enough to give its pages back, if they were
      try {
        registry.publish(output(directory, 3, PAGE));
      } catch (NotPublishedException e) {
        System.out.println("the last is refused: " + e.reason());
      }
      System.out.flush();
      Runtime.getRuntime().halt(0); // the domain has a region for good
    }
  }

  private static MapOutputFile output(Path directory, int shuffle, int lengthBytes)
      throws Exception {
    Path file = Files.write(directory.resolve("shuffle" + shuffle), new byte[lengthBytes]);
    long[] lengths = {lengthBytes};
    return new MapOutputFile(shuffle, 0, file, lengths, PartitionChecksums.compute(file, lengths));
  }
}
