/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TcpReason;

/** The page's text: what all stages have read by which way, and then each stage, the newest first. */
final class StagesView {
  /** Stages on a page. */
  static final int ROWS = 100;

  private static final int BAR_WIDTH = 160;
  private static final int BAR_HEIGHT = 12;

  private static final String TABLE =
      "<table class=\"table table-bordered table-sm table-striped sortable\" id=\"rdma-stages\">";

  private final List<StageRecord> all;
  private final int page;
  private final int pages;

  /**
   * @param records those that have read or are not over, the newest first
   * @param wantedPage from 1; the nearest one that there is
   */
  StagesView(List<StageRecord> records, int wantedPage) {
    all = records;
    pages = Math.max(1, (records.size() + ROWS - 1) / ROWS);
    page = Math.max(1, Math.min(pages, wantedPage));
  }

  String html() {
    Html html = new Html();
    if (all.isEmpty()) {
      return html.raw("<p>")
          .text("No stage has read a shuffle yet.")
          .raw("</p>")
          .toString();
    }
    summary(html);
    html.raw("<h4>").text("Stages (" + all.size() + ")").raw("</h4>");
    navigation(html);
    html.raw(TABLE)
        .raw(
            "<thead><tr><th>Stage</th><th>Description</th><th>State</th><th>Tasks</th><th>Remote bytes</th>");
    html.raw("<th class=\"sorttable_nosort\">By way</th>");
    for (Way way : Way.values()) {
      html.raw("<th>").text(capital(way.label)).raw("</th>");
    }
    html.raw("<th>Blocks by TCP</th><th>Time lost</th><th>Verdict</th></tr></thead><tbody>");
    all.subList((page - 1) * ROWS, Math.min(all.size(), page * ROWS)).forEach(r -> row(html, r));
    html.raw("</tbody></table>");
    navigation(html);
    return html.toString();
  }

  private void summary(Html html) {
    Map<Way, Long> sums = new EnumMap<>(Way.class);
    long lostMicros = 0;
    for (StageRecord record : all) {
      for (Way way : Way.values()) {
        sums.merge(way, way.bytes(record), Long::sum);
      }
      lostMicros += lostMicros(record);
    }
    html.raw("<div class=\"mb-3\"><ul class=\"list-unstyled\">");
    item(
        html,
        "Remote bytes",
        Html.bytes(sums.values().stream().mapToLong(n -> n).sum()));
    sums.forEach((way, bytes) -> {
      html.raw("<li>");
      swatch(html, way);
      html.raw("<strong>").text(capital(way.label) + ": ").raw("</strong>");
      html.text(Html.bytes(bytes)).raw("</li>");
    });
    item(html, "Time that tasks lost", Html.micros(lostMicros));
    html.raw("</ul>");
    bar(html, sums, 4 * BAR_WIDTH);
    html.raw("</div>");
  }

  private static void item(Html html, String label, String value) {
    html.raw("<li><strong>").text(label + ": ").raw("</strong>").text(value).raw("</li>");
  }

  private static void swatch(Html html, Way way) {
    html.raw(
            "<svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" fill=\"")
        .raw(way.color)
        .raw("\"/></svg> ");
  }

  private void row(Html html, StageRecord r) {
    html.raw("<tr><td sorttable_customkey=\"" + r.id + "\"><a href=\"../stages/stage/?id=")
        .raw(r.stageId + "&amp;attempt=" + r.attempt + "\">")
        .text(r.stageId + (r.attempt == 0 ? "" : " (attempt " + r.attempt + ")"))
        .raw("</a></td>");
    html.cell(r.name).cell(r.state.name().toLowerCase(Locale.ROOT));
    html.number(r.tasks, Integer.toString(r.tasks));
    html.number(r.remoteBytes(), Html.bytes(r.remoteBytes()));
    Map<Way, Long> ways = new EnumMap<>(Way.class);
    for (Way way : Way.values()) {
      ways.put(way, way.bytes(r));
    }
    html.raw("<td>");
    bar(html, ways, BAR_WIDTH);
    html.raw("</td>");
    ways.values().forEach(bytes -> html.number(bytes, Html.bytes(bytes)));
    html.number(r.count(Counter.TCP_BLOCKS), reasons(r));
    html.number(lostMicros(r), times(r));
    html.cell(r.verdict == null ? "" : r.verdict).raw("</tr>");
  }

  /** A bar whose parts are the ways' shares. */
  private static void bar(Html html, Map<Way, Long> ways, int width) {
    long total = ways.values().stream().mapToLong(n -> n).sum();
    if (total == 0) {
      return;
    }
    String label = ways.entrySet().stream()
        .filter(way -> way.getValue() > 0)
        .map(way -> way.getKey().label + " " + Math.round(100.0 * way.getValue() / total) + " %")
        .collect(Collectors.joining(", "));
    html.raw("<svg role=\"img\" width=\"" + width + "\" height=\"" + BAR_HEIGHT + "\"><title>")
        .text(label)
        .raw("</title>");
    double x = 0;
    for (Map.Entry<Way, Long> way : ways.entrySet()) {
      double part = (double) width * way.getValue() / total;
      if (part > 0) {
        html.raw(String.format(
            Locale.ROOT,
            "<rect x=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
            x,
            part,
            BAR_HEIGHT,
            way.getKey().color));
      }
      x += part;
    }
    html.raw("</svg>");
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

  private void navigation(Html html) {
    if (pages == 1) {
      return;
    }
    html.raw("<p>");
    link(html, page - 1, "Newer");
    html.text(" Page " + page + " of " + pages + " ");
    link(html, page + 1, "Older");
    html.raw("</p>");
  }

  private void link(Html html, int to, String label) {
    if (to >= 1 && to <= pages) {
      html.raw("<a href=\"?page=" + to + "\">").text(label).raw("</a>");
    }
  }

  private static String capital(String label) {
    return label.substring(0, 1).toUpperCase(Locale.ROOT) + label.substring(1);
  }
}
