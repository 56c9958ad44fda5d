/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.shufflerdma.metrics.ReadCount;

/** Bytes by the ways that they came, and how the page shows them. */
final class Ways {
  static final int BAR_WIDTH = 160;
  private static final int BAR_HEIGHT = 12;

  private final Map<Way, Long> bytes = new EnumMap<>(Way.class);

  Ways() {
    for (Way way : Way.values()) {
      bytes.put(way, 0L);
    }
  }

  Ways(ToLongFunction<ReadCount> counts) {
    this();
    add(counts);
  }

  void add(ToLongFunction<ReadCount> counts) {
    bytes.replaceAll((way, sum) -> sum + way.bytes(counts));
  }

  long total() {
    return bytes.values().stream().mapToLong(n -> n).sum();
  }

  /** The heads of the columns that {@link #cells} fills. */
  static void heads(Html html) {
    html.raw("<th>Remote bytes</th><th class=\"sorttable_nosort\">By way</th>");
    for (Way way : Way.values()) {
      html.raw("<th>").text(capital(way.label)).raw("</th>");
    }
  }

  void cells(Html html) {
    html.number(total(), Html.bytes(total())).raw("<td>");
    bar(html, BAR_WIDTH);
    html.raw("</td>");
    bytes.values().forEach(n -> html.number(n, Html.bytes(n)));
  }

  /** A list of all ways, which says by which color a bar has them. */
  void legend(Html html) {
    bytes.forEach((way, n) -> {
      html.raw(
              "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" fill=\"")
          .raw(way.color)
          .raw("\"/></svg> <strong>")
          .text(capital(way.label) + ": ")
          .raw("</strong>")
          .text(Html.bytes(n))
          .raw("</li>");
    });
  }

  /** A bar whose parts are the ways' shares. */
  void bar(Html html, int width) {
    long total = total();
    if (total == 0) {
      return;
    }
    String label = bytes.entrySet().stream()
        .filter(way -> way.getValue() > 0)
        .map(way -> way.getKey().label + " " + Math.round(100.0 * way.getValue() / total) + " %")
        .collect(Collectors.joining(", "));
    html.raw("<svg role=\"img\" width=\"" + width + "\" height=\"" + BAR_HEIGHT + "\"><title>")
        .text(label)
        .raw("</title>");
    double x = 0;
    for (Map.Entry<Way, Long> way : bytes.entrySet()) {
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

  private static String capital(String label) {
    return label.substring(0, 1).toUpperCase(Locale.ROOT) + label.substring(1);
  }
}
