/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.shufflerdma.DocsPage;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TcpReason;

/** Compares docs/metrics.md and docs/troubleshooting.md with the counters in the sources. */
class MetricsPageTest {
  /** The name of each count as it is on the page, and who keeps it, in the order of the code. */
  private static List<List<String>> counts() {
    List<List<String>> counts = new ArrayList<>();
    for (Counter counter : Counter.values()) {
      counts.add(List.of("`" + counter.publicName() + "`", "task, executor"));
    }
    counts.add(List.of("`" + ExecutorCounts.HIT_PERCENT + "`", "executor, driver"));
    Set<String> ofTasks = Stream.of(UnpublishedReason.values())
        .map(ExecutorCounts::nameOf)
        .collect(Collectors.toSet());
    for (String name : ExecutorCounts.namesOfRdma()) {
      counts.add(List.of("`" + name + "`", ofTasks.contains(name) ? "task, executor" : "executor"));
    }
    return counts;
  }

  @Test
  void thePageOfMetricsHasEveryCountWithUnitKeeperAndMeaning() throws IOException {
    List<List<String>> rows =
        DocsPage.named("metrics.md").rows("| name | unit | kept by | meaning |");
    assertThat(rows.stream().map(row -> List.of(row.get(0), row.get(2))))
        .containsExactlyElementsOf(counts());
    assertThat(rows).allSatisfy(row -> {
      assertThat(row.get(1).equals("bytes")).isEqualTo(row.get(0).matches(".*[bB]ytes`"));
      assertThat(row.get(3)).endsWith(".");
    });
  }

  @Test
  void thePageOfMetricsHasEveryPhaseAndWhatIsToldOfIt() throws IOException {
    DocsPage page = DocsPage.named("metrics.md");
    assertThat(page.rows("| phase | what is timed, each time |"))
        .extracting(row -> row.get(0))
        .containsExactlyElementsOf(Stream.of(ExecutorTimes.Phase.values())
            .map(phase -> "`" + phase.publicName() + "`")
            .toList());
    List<List<String>> gauges = page.rows("| gauge | unit | meaning |");
    assertThat(gauges)
        .extracting(row -> row.get(0))
        .containsExactlyElementsOf(Stream.of(ExecutorTimes.Figure.values())
            .map(figure -> "`" + figure.suffix() + "`")
            .toList());
    assertThat(gauges)
        .allSatisfy(row -> assertThat(row.get(1).equals("microseconds"))
            .isEqualTo(row.get(0).endsWith("Micros`")));
  }

  @Test
  void thePageOfMetricsHasEveryTimeThatTasksLose() throws IOException {
    List<List<String>> rows =
        DocsPage.named("metrics.md").rows("| counter of lost time | meaning |");
    assertThat(rows)
        .extracting(row -> row.get(0))
        .containsExactlyElementsOf(Stream.of(TaskTime.values())
            .map(time -> "`" + time.publicName() + "`")
            .toList());
    assertThat(rows).allSatisfy(row -> assertThat(row.get(1)).startsWith("Microseconds "));
  }

  @Test
  void thePageOfMetricsHasEveryReasonForTcp() throws IOException {
    assertThat(Files.readAllLines(Path.of("../docs/metrics.md")))
        .filteredOn(line -> line.startsWith("* `"))
        .containsExactlyElementsOf(Stream.of(TcpReason.values())
            .map(reason -> "* `" + reason.publicName() + "`")
            .toList());
  }

  /** bin/monitoring also runs the queries; a name that no executor has would make a graph without a line. */
  @Test
  void theDashboardAndTheAlertsNameCountersOnly() throws IOException {
    Set<String> known = new HashSet<>(Set.of(
        "shuffle_rdma_fallback", // with the label "reason"
        "shuffle_rdma_outputs_unpublished"));
    counts().forEach(row -> known.add(row.get(0).replace("`", "").replace('.', '_')));
    for (ExecutorTimes.Figure figure : ExecutorTimes.Figure.values()) {
      known.add("shuffle_rdma_time_" + figure.suffix()); // with the label "phase"
    }
    Pattern metric = Pattern.compile("\\bshuffle_rdma_(?!node_service_)\\w+");
    for (String file : List.of("grafana-dashboard.json", "prometheus-alerts.yml")) {
      String text = Files.readString(Path.of("../conf", file));
      Stream<String> names = metric.matcher(text).results().map(MatchResult::group);
      assertThat(names).as(file).isNotEmpty().isSubsetOf(known);
    }
  }

  @Test
  void everyReasonForTcpIsAnsweredInTroubleshooting() throws IOException {
    String text = Files.readString(Path.of("../docs/troubleshooting.md"));
    List<String> rows = text.lines().filter(line -> line.startsWith("| `")).toList();
    for (TcpReason reason : TcpReason.values()) {
      assertThat(rows)
          .as("rows of docs/troubleshooting.md")
          .anyMatch(row -> row.split("\\|", -1)[1].contains("`" + reason.label() + "`"));
    }
  }
}
