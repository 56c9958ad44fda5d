/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ProcessLimitsTest {
  /** Says what the limits of its process are. */
  static final class Reader {
    private Reader() {}

    public static void main(String[] arguments) {
      System.out.println("limits " + ProcessLimits.read());
    }
  }

  @Test
  void limitsAreThoseOfTheProcessAndTheHost() throws Exception {
    try (Jvm jvm = Jvm.startUnder(List.of("prlimit", "--nofile=777:777"), Map.of(), Reader.class)) {
      assertThat(jvm.awaitLine("limits "))
          .isEqualTo(
              new ProcessLimits(777, Long.parseLong(cat("/proc/sys/vm/max_map_count"))).toString());
    }
  }

  private static String cat(String file) throws Exception {
    Process cat = new ProcessBuilder("cat", Path.of(file).toString()).start();
    return new String(cat.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).trim();
  }
}
