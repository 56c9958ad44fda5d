/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FaultCatalogueTest {
  private static final int DRAWS = 20_000;
  private static final Map<String, Long> EVENTS = Map.of("read", 40L, "completion", 12L);

  private static List<Fault> draw(long seed, String path) {
    Random random = new Random(seed);
    return Stream.generate(() -> FaultCatalogue.draw(random, 2, path, EVENTS))
        .limit(DRAWS)
        .toList();
  }

  @Test
  void aSeedDrawsTheSameFaultsAgainAndAnotherOthers() {
    assertThat(draw(1, "wire")).isEqualTo(draw(1, "wire")).isNotEqualTo(draw(2, "wire"));
  }

  @Test
  void everyChoiceIsMade() {
    for (Fault fault : draw(1, "wire")) {
      assertThat(fault.toString()).doesNotContain("{", "}", "|");
    }
  }

  @Test
  void allRulesAreSpeltOut() {
    assertThat(FaultCatalogue.rules())
        .contains(
            "file:errno=ESTALE,count=1,nth=1",
            "link:kind=CM,silence,count=1,nth=1",
            "read:flip,offset=0,nth=1")
        .noneMatch(rule -> rule.matches(".*[{}|].*|.*\\.\\..*"));
  }

  @Test
  void everyStatusOfAFailedReadIsDrawn() {
    Set<String> statuses = new HashSet<>();
    for (Fault fault : draw(1, "file")) {
      if (fault.rule().startsWith("read:status=")) {
        statuses.add(fault.rule().split("[=,]", -1)[1]);
      }
    }
    assertThat(statuses).hasSize(21);
  }

  @Test
  void aFaultOfAnotherPathIsNotDrawn() {
    assertThat(draw(1, "file"))
        .noneMatch(fault -> fault.rule().startsWith("frame:") || fault.rule().startsWith("cma:"))
        .anyMatch(fault -> fault.rule().startsWith("file:"));
  }

  @Test
  void theEventIsOneThatTheJobHas() {
    for (Fault fault : draw(1, "file")) {
      if (fault.rule().startsWith("read:flip")) {
        String nth = fault.rule().substring(fault.rule().indexOf("nth=") + 4);
        assertThat(Long.parseLong(nth)).isBetween(1L, 40L);
      }
    }
  }

  @Test
  void onlyWhatSparkItselfLosesMayFailAJob() {
    for (Fault fault : draw(1, "wire")) {
      String text = fault.toString();
      assertThat(fault.hurtsSpark())
          .as(text)
          .isEqualTo(text.contains("kill") || text.contains("stop") || text.contains("unlink"));
    }
  }
}
