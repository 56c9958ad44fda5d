/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.util.List;
import java.util.stream.Collectors;

/** Pieces of HTML. */
final class Html {
  private Html() {}

  static String escape(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("'", "&#39;")
        .replace("\"", "&quot;");
  }

  static String table(List<String> head, List<List<String>> rows) {
    return "<div class='wide'><table>\n<tr>" + cells("th", head) + "</tr>\n"
        + rows.stream()
            .map(row -> "<tr>" + cells("td", row) + "</tr>\n")
            .collect(Collectors.joining())
        + "</table></div>\n";
  }

  private static String cells(String tag, List<String> cells) {
    return cells.stream()
        .map(cell -> "<%s>%s</%s>".formatted(tag, escape(cell), tag))
        .collect(Collectors.joining());
  }
}
