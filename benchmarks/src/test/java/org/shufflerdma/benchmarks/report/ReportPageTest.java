/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportPageTest {
  private static final String RESULTS = """
      {"benchmark":"b, warm","scenario":"<1>","application":0,"round":0,"side":"rdma","digest":"a","figures":{"time, s":1,"GB/s":3,"wait":0},"settings":{"codec":"lz4","disk":"a"},"machine":{"commit":"abc","cores":2}}
      {"benchmark":"b, warm","scenario":"<1>","application":0,"round":0,"side":"stock","digest":"a","figures":{"time, s":2,"GB/s":1.5,"wait":1},"settings":{"codec":"lz4","disk":"b"},"machine":{"commit":"abc","cores":2}}
      {"benchmark":"b, warm","scenario":"<1>","application":0,"round":1,"side":"rdma","digest":"a","figures":{"time, s":1},"machine":{"commit":"abc","cores":2}}
      {"benchmark":"b, warm","scenario":"<1>","application":1,"round":1,"side":"stock","digest":"a","figures":{"time, s":7},"machine":{"commit":"abc","cores":2}}
      """;

  @TempDir
  Path directory;

  private ResultFile results(String text) throws Exception {
    return ResultFile.read(Files.writeString(directory.resolve("b.jsonl"), text));
  }

  @Test
  void theRatioIsOfRoundsThatBothMadeAndAboveOneWhereThePluginWasBetter() throws Exception {
    ResultFile file = results(RESULTS);
    assertThat(file.machine()).containsEntry("commit", "abc");
    assertThat(file.settings()).isEqualTo(Map.of("b, warm", Map.of("codec", "lz4")));
    Ratio twice = new Ratio(2, 2, 2, 1, 1);
    assertThat(Comparison.of(file.runs()))
        .containsExactly(
            new Comparison(
                "b, warm", "time, s", List.of(new Comparison.Row("<1>", "stock", 4.5, 1, twice))),
            new Comparison(
                "b, warm", "GB/s", List.of(new Comparison.Row("<1>", "stock", 1.5, 3, twice))),
            new Comparison(
                "b, warm", "wait", List.of(new Comparison.Row("<1>", "stock", 1, 0, null))));
  }

  @Test
  void thePageHasEveryRunAndThePlotsAreXml() throws Exception {
    ReportPage.main(new String[] {
      directory.resolve("report").toString(), results(RESULTS).path().toString()
    });
    String page = Files.readString(directory.resolve("report/index.html"));
    assertThat(page).contains("All 4 runs", "&lt;1&gt;").doesNotContain("<1>", "differ");
    Path plot = directory.resolve("report/b-b-warm-time-s.svg");
    assertThat(DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(plot.toFile())
            .getElementsByTagName("circle")
            .getLength())
        .isEqualTo(1);
  }

  @Test
  void runsOfTwoCommitsAreNotPutTogether() {
    assertThatThrownBy(() -> results(RESULTS.replaceFirst("abc", "abd")))
        .hasMessageContaining("two machines or commits");
  }

  @Test
  void thePageSaysWhereTheResultsOfSidesDiffer() throws Exception {
    Path file =
        results(RESULTS.replaceFirst("\"digest\":\"a\"", "\"digest\":\"z\"")).path();
    assertThatThrownBy(() -> ReportPage.main(new String[] {directory.toString(), file.toString()}))
        .hasMessageContaining("differ");
    assertThat(Files.readString(directory.resolve("index.html")))
        .contains("The results of &lt;1&gt; differ.");
  }
}
