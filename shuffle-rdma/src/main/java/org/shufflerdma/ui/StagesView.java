/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TcpReason;

/** What all stages have read by which way, and then each stage, the newest first. */
final class StagesView {
  private static final int BAR_WIDTH = 4 * Ways.BAR_WIDTH;

  private static final String ANCHOR = "rdma-stages";

  private final Pages<StageRecord> stages;

  /**
   * @param records those that have read or are not over, the newest first
   * @param wantedPage from 1; the nearest one that there is
   */
  StagesView(List<StageRecord> records, int wantedPage) {
    stages = new Pages<>(records, "page", ANCHOR, "Newer", "Older", wantedPage);
  }

  void write(Html html) {
    List<StageRecord> all = stages.all();
    if (all.isEmpty()) {
      html.raw("<p>").text("No stage has read a shuffle yet.").raw("</p>");
      return;
    }
    summary(html, all);
    html.raw("<h4>").text("Stages (" + all.size() + ")").raw("</h4>");
    stages.show(html, shown -> {
      html.table(ANCHOR).raw("<th>Stage</th><th>Description</th><th>State</th><th>Tasks</th>");
      Ways.heads(html);
      html.raw("<th>Blocks by TCP</th><th>Time lost</th><th>Verdict</th></tr></thead><tbody>");
      shown.forEach(r -> row(html, r));
      html.raw("</tbody></table>");
    });
  }

  private static void summary(Html html, List<StageRecord> all) {
    Ways sums = new Ways();
    long lostMicros = 0;
    for (StageRecord record : all) {
      sums.add(record::count);
      lostMicros += lostMicros(record);
    }
    html.raw("<div class=\"mb-3\"><ul class=\"list-unstyled\">");
    item(html, "Remote bytes", Html.bytes(sums.total()));
    sums.legend(html);
    item(html, "Time that tasks lost", Html.micros(lostMicros));
    html.raw("</ul>");
    sums.bar(html, BAR_WIDTH);
    html.raw("</div>");
  }

  private static void item(Html html, String label, String value) {
    html.raw("<li><strong>").text(label + ": ").raw("</strong>").text(value).raw("</li>");
  }

  private static void row(Html html, StageRecord r) {
    html.raw("<tr><td sorttable_customkey=\"" + r.id + "\"><a href=\"../stages/stage/?id=")
        .raw(r.stageId + "&amp;attempt=" + r.attempt + "\">")
        .text(r.stageId + (r.attempt == 0 ? "" : " (attempt " + r.attempt + ")"))
        .raw("</a></td>");
    html.cell(r.name).cell(r.state.name().toLowerCase(Locale.ROOT));
    html.number(r.tasks, Integer.toString(r.tasks));
    new Ways(r::count).cells(html);
    html.number(r.count(Counter.TCP_BLOCKS), reasons(r));
    html.number(lostMicros(r), times(r));
    html.cell(r.verdict == null ? "" : r.verdict).raw("</tr>");
  }

  private static String reasons(StageRecord r) {
    String reasons = Arrays.stream(TcpReason.values())
        .filter(reason -> r.count(reason) > 0)
        .sorted(Comparator.<TcpReason>comparingLong(r::count).reversed())
        .map(reason -> reason.label() + " " + r.count(reason))
        .collect(Collectors.joining(", "));
    return r.count(Counter.TCP_BLOCKS) + (reasons.isEmpty() ? "" : ": " + reasons);
  }

  private static String times(StageRecord r) {
    return Html.micros(lostMicros(r)) + ": "
        + Arrays.stream(TaskTime.values())
            .filter(time -> r.count(time) > 0)
            .sorted(Comparator.<TaskTime>comparingLong(r::count).reversed())
            .map(time -> time.name().toLowerCase(Locale.ROOT).replace('_', ' ') + " "
                + Html.micros(r.count(time)))
            .collect(Collectors.joining(", "));
  }

  private static long lostMicros(StageRecord r) {
    long sum = 0;
    for (ReadCount time : TaskTime.values()) {
      sum += r.count(time);
    }
    return sum;
  }
}
