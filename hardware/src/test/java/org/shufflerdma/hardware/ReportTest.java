/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.shufflerdma.hardware.Report.Verdict;

class ReportTest {
  private final Report report = new Report();

  @Test
  void onlyWhatIsNeededMustBeProven() {
    report.needed("bytes", Verdict.PROVEN, "right");
    report.optional("paging", Verdict.NOT_PROVEN, "not offered");
    assertThat(report.proven()).isTrue();
    report.needed("port", Verdict.NOT_PROVEN, "down");
    assertThat(report.proven()).isFalse();
  }

  @Test
  void whatIsOptionalNeverTurnsTheVerdict() {
    report.needed("bytes", Verdict.PROVEN, "right");
    report.optional("paging", Verdict.FAILED, "other bytes");
    assertThat(report.proven()).isTrue();
    assertThat(report.text()).contains("FAILED (optional): other bytes");
  }

  @Test
  void textsAreQuotedForPrograms() {
    report.fact("kernel", "\"6.1\"\\\n");
    assertThat(report.json()).contains("\"kernel\": \"\\\"6.1\\\"\\\\\\u000a\"");
  }

  @Test
  void samplesTellMedianAndSpread() {
    Samples samples = new Samples();
    List.of(5.0, 1.0, 2.0, 4.0).forEach(samples::add);
    assertThat(samples).hasToString("3.000 (1.000 to 5.000)");
    assertThat(samples.json()).containsEntry("median", 3.0).containsEntry("rounds", 4);
  }
}
