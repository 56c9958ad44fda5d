/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageTablesTest {
  private static final String BEGIN =
      "<!-- results b.jsonl.gz | jobs, warm | job, s; none; CPU, s -->\n";
  private static final String END = "<!-- end of results -->";
  private static final Path DOCS = Path.of("..", "docs");

  @TempDir
  Path folder;

  /** Six applications of one round, in which stock takes twice as long and as much CPU. */
  @BeforeEach
  void writeResults() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (int application = 0; application < Ratio.LEAST_APPLICATIONS; application++) {
      for (String side : new String[] {"stock", "rdma"}) {
        double time = side.equals("stock") ? 2 : 1;
        lines.append("""
            {"benchmark":"jobs, warm","scenario":"few","application":%d,"round":0,"side":"%s","digest":"a",\
            "figures":{"job, s":%s,"CPU, s":%s},"settings":{"codec":"lz4"},"machine":{"commit":"abc"}}
            """.formatted(application, side, time, 2 * time));
      }
    }
    try (OutputStream file =
        new GZIPOutputStream(Files.newOutputStream(folder.resolve("b.jsonl.gz")))) {
      file.write(lines.toString().getBytes(StandardCharsets.UTF_8));
    }
  }

  @Test
  void pagesHaveTheTablesThatFollowFromTheirRawLines() throws IOException {
    for (String name : PageTables.PAGES) {
      String page = Files.readString(DOCS.resolve(name));
      assertThat(PageTables.rewrite(page, DOCS.resolve("results")))
          .as("bin/bench tables writes the tables of " + name)
          .isEqualTo(page);
    }
  }

  @Test
  void plotsFollowFromTheRawLines() throws IOException {
    for (Map.Entry<String, String> plot :
        PagePlots.draw(DOCS.resolve("results")).entrySet()) {
      assertThat(Files.readString(DOCS.resolve("plots").resolve(plot.getKey())))
          .as("bin/bench tables draws " + plot.getKey())
          .isEqualTo(plot.getValue());
    }
  }

  @Test
  void aTableIsReplacedByTheOneThatFollowsFromTheRawLines() throws IOException {
    String page = "Before.\n\n" + BEGIN + "| an old table |\n" + END + "\n\nAfter.\n";
    assertThat(PageTables.rewrite(page, folder))
        .isEqualTo("Before.\n\n" + BEGIN + """
        | scenario | figure | stock | plugin | stock / plugin |
        |---|---|---|---|---|
        | `few` | job, s | 2.000 | 1.000 | **2.00** [2.00, 2.00] |
        | `few` | CPU, s | 4.000 | 2.000 | **2.00** [2.00, 2.00] |

        Raw lines: [b.jsonl.gz](results/b.jsonl.gz).
        Applications of each side: 6, rounds of each: 1.
        `commit` abc.
        `codec` lz4.

        """ + END + "\n\nAfter.\n");
  }

  @Test
  void aBenchmarkWithoutAnotherSideHasTheRangesOfItsRuns() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (int round = 0; round < 3; round++) {
      lines.append("""
          {"benchmark":"wide","scenario":"64 owners","application":0,"round":%d,"side":"rdma","digest":"",\
          "figures":{"end, s":%d},"settings":{},"machine":{"commit":"abc"}}
          """.formatted(round, 10 * (round + 1)));
    }
    Files.writeString(folder.resolve("w.jsonl"), lines);
    String begin = "<!-- results w.jsonl | wide | end, s -->\n";
    assertThat(PageTables.rewrite(begin + END, folder)).isEqualTo(begin + """
        | scenario | figure | median | least | most |
        |---|---|---|---|---|
        | `64 owners` | end, s | 20.0 | 10.0 | 30.0 |

        Raw lines: [w.jsonl](results/w.jsonl).
        Sets of processes: 1, rounds of each: 3.
        `commit` abc.

        """ + END);
  }

  @Test
  void aTableOfOneScenarioHasNoOther() throws IOException {
    Path results = folder.resolve("two.jsonl");
    StringBuilder lines = new StringBuilder();
    for (String scenario : new String[] {"all", "q1"}) {
      lines.append("""
          {"benchmark":"tpcds, warm","scenario":"%s","application":0,"round":0,"side":"rdma","digest":"",\
          "figures":{"query, s":7},"settings":{},"machine":{"commit":"abc"}}
          """.formatted(scenario));
    }
    Files.writeString(results, lines);
    assertThat(PageTables.rewrite(
            "<!-- results two.jsonl | tpcds, warm: all | query, s -->\n" + END, folder))
        .contains("| `all` |")
        .doesNotContain("q1");
  }

  @Test
  void aTableOfSomeSidesHasNoOther() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (String side : new String[] {"rdma", "netty", "ucx", "pread"}) {
      lines.append("""
          {"benchmark":"fetch","scenario":"1 KiB","application":0,"round":0,"side":"%s","digest":"",\
          "figures":{"time, s":7},"settings":{},"machine":{"commit":"abc"}}
          """.formatted(side));
    }
    Files.writeString(folder.resolve("f.jsonl"), lines);
    assertThat(PageTables.rewrite(
            "<!-- results f.jsonl | fetch | time, s | netty; ucx -->\n" + END, folder))
        .contains("| scenario | figure | netty | ucx | plugin | netty / plugin | ucx / plugin |");
    assertThatThrownBy(() ->
            PageTables.rewrite("<!-- results f.jsonl | fetch | time, s | nety -->\n" + END, folder))
        .hasMessageContaining("[nety]");
  }

  @Test
  void aTableWithoutRawLinesIsRefused() {
    assertThatThrownBy(() ->
            PageTables.rewrite("<!-- results b.jsonl.gz | jobs, cold | job, s -->\n" + END, folder))
        .hasMessageContaining("none of the figures");
  }
}
