/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/** Compares docs/metrics.md and docs/troubleshooting.md with the counters in the sources. */
class MetricsPageTest {
  private static final Path DOCS = Path.of("..", "docs");

  private static final String HEAD = """
      # Metrics

      <!-- Generated from Counter, FallbackReasons and ExecutorCounts; `UPDATE=1 mvn test -pl shuffle-rdma \
      -am -Dtest=MetricsPageTest -Dsurefire.failIfNoSpecifiedTests=false` rewrites it. -->

      Each task and each executor keeps the counters of reads; all other counters belong to executors alone. The column *kept by*
      of the table below says which is which. The counters are visible in four places:

      | place | content |
      |---|---|
      | stage page, event log, history server | an accumulator for each counter that tasks keep |
      | Spark's metrics system | a gauge for each counter of each executor, in the source `shuffleRdma`: \
      `APPLICATION.EXECUTOR.shuffleRdma.NAME`, with NAME as in the table below |
      | the log of an executor when it stops | `Shuffle reads of this executor:` and each counter that is not 0 |
      | the log of the driver when the application ends | `Shuffle blocks read by all tasks:` and the sums over all \
      tasks that are not 0 |

      `shuffle.rdma.bytes` + `shuffle.rdma.tcp.bytes` equals what Spark counts as remote bytes read, and
      `shuffle.rdma.local.bytes` + `shuffle.rdma.hostLocal.bytes` what it counts as local bytes. The same holds for blocks. \
      Failed tasks count, too.
      `outputs.waiting` and the counters named `…Bytes` tell the present value, and `hitPercent` the ratio of two sums;
      all others are sums since the start.
      An executor without RDMA has only the counters that tasks keep.

      | name | unit | kept by | meaning |
      |---|---|---|---|
      """;

  private static final String FALLBACKS = """

      ## Blocks that took TCP

      Tasks and executors count each block that took TCP under `shuffle.rdma.fallback.REASON`. \
      [troubleshooting.md](troubleshooting.md) says
      what each reason means and what to do; [reliability.md](reliability.md) lists the faults behind it.

      """;

  /** Counts of work that tasks share: the sums are right, a single task's share is not exact. */
  private static final Set<String> SHARED = Set.of(SharedCount.READS, SharedCount.CONNECTIONS);

  private static String page() {
    StringBuilder text = new StringBuilder(HEAD);
    for (Counter counter : Counter.values()) {
      row(text, counter.publicName(), counter.unit(), "task, executor", counter.meaning());
    }
    row(
        text,
        ExecutorCounts.HIT_PERCENT,
        "percent",
        "executor, driver",
        "`blocks / (blocks + misses)`; 0 if there were none.");
    for (ExecutorCounts.OfRdma count : ExecutorCounts.OF_RDMA) {
      boolean shared = SHARED.contains(count.name());
      row(
          text,
          count.name(),
          count.unit(),
          shared ? "task, executor" : "executor",
          count.meaning()
              + (shared
                  ? " The share of a single task is not exact; the sum over all tasks is."
                  : ""));
    }
    text.append(FALLBACKS);
    FallbackReasons.all()
        .forEach(reason ->
            text.append("* `").append(ReadCounters.fallbackName(reason)).append("`\n"));
    return text.toString();
  }

  private static void row(StringBuilder text, String name, String unit, String of, String meaning) {
    text.append("| `").append(name).append("` | ").append(unit).append(" | ");
    text.append(of).append(" | ").append(meaning).append(" |\n");
  }

  @Test
  void thePageOfMetricsIsUpToDate() throws IOException {
    Path file = DOCS.resolve("metrics.md");
    if (System.getenv("UPDATE") != null) {
      Files.writeString(file, page());
    }
    assertThat(file).hasContent(page());
  }

  @Test
  void everyReasonForTcpIsAnsweredInTroubleshooting() throws IOException {
    String text = Files.readString(DOCS.resolve("troubleshooting.md"));
    List<String> rows = text.lines().filter(line -> line.startsWith("| `")).toList();
    for (String reason : FallbackReasons.all()) {
      assertThat(rows)
          .as("rows of docs/troubleshooting.md")
          .anyMatch(row -> row.split("\\|", -1)[1].contains("`" + reason + "`"));
    }
  }
}
