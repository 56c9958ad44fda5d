/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class ValidationTest {
  @Test
  void equalChecksumAndCountAreValid() {
    assertThat(Validation.judge(List.of("checksum\t7a27e2d0d55de"), 10, "7a27e2d0d55de", 10))
        .isEqualTo(new Validation.Outcome("7a27e2d0d55de", 10, null));
  }

  @Test
  void anErrorLineIsInvalidThoughTheChecksumIsRight() {
    Validation.Outcome outcome =
        Validation.judge(List.of("checksum\tab", "error\tbad key partitioning:"), 10, "ab", 10);
    assertThat(outcome.error()).contains("bad key partitioning");
  }

  @Test
  void anotherChecksumIsInvalid() {
    assertThat(Validation.judge(List.of("checksum\tab"), 10, "cd", 10).error())
        .contains("ab")
        .contains("cd");
  }

  @Test
  void aReportWithoutChecksumIsInvalid() {
    assertThat(Validation.judge(List.of(), 10, "cd", 10).error()).contains("none");
  }

  @Test
  void lostRecordsAreInvalid() {
    assertThat(Validation.judge(List.of("checksum\tab"), 9, "ab", 10).error())
        .isEqualTo("10 records went in, 9 came out");
  }
}
