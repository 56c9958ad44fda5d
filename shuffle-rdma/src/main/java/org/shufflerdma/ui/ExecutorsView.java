/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Each executor: its device, its connections, its registered memory, and what its tasks have read by which way. */
final class ExecutorsView {
  /** Comes behind all that is about stages. */
  static final String ANCHOR = "rdma-executors";

  private static final int BAR_WIDTH = 60;
  private static final int BAR_HEIGHT = 12;

  /** Executors have numbers, which texts of digits are in the order of by length first. */
  private static final Comparator<ExecutorRecord> BY_NUMBER =
      Comparator.<ExecutorRecord>comparingInt(r -> r.id.length()).thenComparing(r -> r.id);

  private final Pages<ExecutorRecord> executors;

  /**
   * @param records in any order
   * @param wantedPage from 1; the nearest one that there is
   */
  ExecutorsView(List<ExecutorRecord> records, int wantedPage) {
    executors = new Pages<>(
        records.stream().sorted(BY_NUMBER).toList(),
        "executors",
        ANCHOR,
        "Previous",
        "Next",
        wantedPage);
  }

  void write(Html html) {
    List<ExecutorRecord> all = executors.all();
    if (all.isEmpty()) {
      return;
    }
    html.raw("<h4>").text("Executors (" + all.size() + ")").raw("</h4>");
    executors.show(html, shown -> {
      html.table(ANCHOR)
          .raw("<th>Executor</th><th>Host</th><th>Device</th><th>Connections</th>")
          .raw("<th>Registered memory</th><th>Peak</th><th>Budget</th><th>Tasks</th>");
      Ways.heads(html);
      html.raw("</tr></thead><tbody>");
      shown.forEach(r -> row(html, r));
      html.raw("</tbody></table>");
    });
  }

  private static void row(Html html, ExecutorRecord r) {
    ExecutorState state = r.state;
    html.raw("<tr>").cell(r.id + (r.removed ? " (removed)" : "")).cell(state.host);
    html.cell(device(state));
    html.number(state.connections, Integer.toString(state.connections));
    html.raw("<td sorttable_customkey=\"" + state.registeredBytes + "\">");
    if (state.maxRegisteredBytes > 0) {
      gauge(html, (double) state.registeredBytes / state.maxRegisteredBytes);
      html.text(" " + Html.bytes(state.registeredBytes));
    }
    html.raw("</td>");
    html.number(state.peakRegisteredBytes, Html.bytes(state.peakRegisteredBytes));
    html.number(state.maxRegisteredBytes, Html.bytes(state.maxRegisteredBytes));
    html.number(r.tasks, Integer.toString(r.tasks));
    new Ways(r::count).cells(html);
    html.raw("</tr>");
  }

  private static String device(ExecutorState state) {
    if (state.device == null) {
      return state.withoutRdma == null ? "" : "no RDMA: " + state.withoutRdma;
    }
    return state.device + (state.rail == 0 ? "" : " (rail " + state.rail + ")");
  }

  /** A bar that is filled as far as the budget is. */
  private static void gauge(Html html, double share) {
    html.raw("<svg role=\"img\" width=\"" + BAR_WIDTH + "\" height=\"" + BAR_HEIGHT + "\"><title>")
        .text(Math.round(100 * share) + " % of the budget")
        .raw(String.format(
            Locale.ROOT,
            "</title><rect width=\"%d\" height=\"%d\" fill=\"#888888\" fill-opacity=\"0.35\"/>"
                + "<rect width=\"%.1f\" height=\"%d\" fill=\"%s\"/></svg>",
            BAR_WIDTH,
            BAR_HEIGHT,
            BAR_WIDTH * Math.min(1, share),
            BAR_HEIGHT,
            Way.REGISTERED.color));
  }
}
