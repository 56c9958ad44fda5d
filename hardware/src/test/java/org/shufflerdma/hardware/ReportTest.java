/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
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
  void hostThatWasRefusedIsNotSaidToFit() {
    assertThat(report.text()).contains("the defaults fit what was measured");
    report.needed("a device to test", Verdict.FAILED, "no device");
    assertThat(report.text()).contains("\n  none\n").doesNotContain("measured");
  }

  @Test
  void fileIsTheTextAndThenTheSameForPrograms() {
    report.fact("kernel", "6.1");
    report.table("speeds", List.of("size  MB/s", "64 B  7"), List.of(Map.of("mb_per_s", 7)));
    String file = report.file();
    assertThat(file).startsWith(report.text()).endsWith("\n" + report.json());
    assertThat(report.text()).contains("speeds\n  size  MB/s\n  64 B  7\n").doesNotContain("{");
    assertThat(report.json()).contains("\"speeds\": [", "\"mb_per_s\": 7");
  }

  @Test
  void latenciesTellPercentilesAndBandwidth() {
    Latencies latencies = new Latencies(1000);
    for (int i = 100; i >= 1; i--) {
      latencies.add(i * 1000L);
    }
    latencies.end(1_000_000);
    assertThat(latencies.us(50)).isEqualTo(50.0);
    assertThat(latencies.us(99)).isEqualTo(99.0);
    assertThat(latencies.mbPerS()).isEqualTo(100.0);
    assertThat(latencies.json()).containsEntry("operations", 100);
  }

  @Test
  void samplesTellMedianAndSpread() {
    Samples samples = new Samples();
    List.of(5.0, 1.0, 2.0, 4.0).forEach(samples::add);
    assertThat(samples).hasToString("3.000 (1.000 to 5.000)");
    assertThat(samples.json()).containsEntry("median", 3.0).containsEntry("rounds", 4);
  }
}
