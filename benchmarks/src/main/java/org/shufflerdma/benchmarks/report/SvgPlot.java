/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Draws the ratios of a comparison with their intervals on a logarithmic axis, as SVG that needs
 * nothing else and is readable on light and on dark backgrounds.
 */
final class SvgPlot {
  private static final int SIDE_X = 150;
  private static final int AXIS_X = 275;
  private static final int AXIS_WIDTH = 320;
  private static final int TEXT_X = AXIS_X + AXIS_WIDTH + 14;
  private static final int WIDTH = TEXT_X + 130;
  private static final int LINE = 20;
  private static final int GAP = 8;
  private static final int TOP = 12;
  private static final int AXIS_HEIGHT = 42;
  private static final int MOST_TICKS = 8;
  private static final int COLOURS = 4;

  /** Steps between 1 and 10 where the axis has ticks, the finest first. */
  private static final double[][] TICKS = {
    {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5},
    {1, 1.2, 1.5, 2, 3, 4, 6, 8},
    {1, 2, 5},
    {1}
  };

  private static final String STYLE = """
      <style>
        .plot { font: 12px system-ui, sans-serif; fill: #1f2328; }
        .plot .axis { stroke: #afb8c1; } .plot .one { stroke: #1f2328; } .plot .dim { fill: #59636e; }
        .plot .c0 { stroke: #0969da; fill: #0969da; } .plot .c1 { stroke: #bc4c00; fill: #bc4c00; }
        .plot .c2 { stroke: #1a7f37; fill: #1a7f37; } .plot .c3 { stroke: #8250df; fill: #8250df; }
        @media (prefers-color-scheme: dark) {
          .plot { fill: #e6edf3; }
          .plot .axis { stroke: #484f58; } .plot .one { stroke: #e6edf3; } .plot .dim { fill: #9198a1; }
          .plot .c0 { stroke: #58a6ff; fill: #58a6ff; } .plot .c1 { stroke: #f0883e; fill: #f0883e; }
          .plot .c2 { stroke: #3fb950; fill: #3fb950; } .plot .c3 { stroke: #bc8cff; fill: #bc8cff; }
        }
      </style>
      """;

  private final Comparison comparison;
  private final double low;
  private final double high;
  private final StringBuilder svg = new StringBuilder();

  private SvgPlot(Comparison comparison) {
    this.comparison = comparison;
    double least = 1 / 1.1;
    double most = 1.1;
    for (Comparison.Row row : comparison.rows()) {
      @Nullable Ratio ratio = row.ratio();
      if (ratio != null) {
        least = Math.min(least, ratio.low());
        most = Math.max(most, ratio.high());
      }
    }
    this.low = least / 1.03;
    this.high = most * 1.03;
  }

  static String draw(Comparison comparison) {
    return new SvgPlot(comparison).draw();
  }

  private String draw() {
    List<String> sides =
        comparison.rows().stream().map(Comparison.Row::side).distinct().sorted().toList();
    StringBuilder rows = new StringBuilder();
    int y = TOP;
    String before = "";
    for (Comparison.Row row : comparison.rows()) {
      y += row.scenario().equals(before) ? LINE : LINE + GAP;
      if (!row.scenario().equals(before)) {
        rows.append(text(0, y, "", row.scenario()));
        before = row.scenario();
      }
      rows.append(text(SIDE_X, y, " class='dim'", row.side()));
      rows.append(interval(y, row.ratio(), sides.indexOf(row.side()) % COLOURS));
    }
    int bottom = y + GAP;
    svg.append(
        "<svg xmlns='http://www.w3.org/2000/svg' class='plot' role='img' viewBox='0 0 %d %d' width='%d'>%n"
            .formatted(WIDTH, bottom + AXIS_HEIGHT, WIDTH));
    svg.append("<title>%s</title>%n".formatted(Html.escape(comparison.figure())));
    svg.append(STYLE);
    axis(bottom);
    return svg.append(rows).append("</svg>\n").toString();
  }

  private void axis(int bottom) {
    for (double tick : ticks()) {
      double x = x(tick);
      svg.append(format(
          "<line class='%s' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>%n",
          Math.abs(tick - 1) < 1e-9 ? "one" : "axis", x, x, TOP, bottom));
      svg.append(format(
          "<text class='dim' text-anchor='middle' x='%.1f' y='%d'>%s</text>%n",
          x,
          bottom + 15,
          new BigDecimal(tick).round(new MathContext(3)).stripTrailingZeros().toPlainString()));
    }
    svg.append(side(bottom + 32, "end", -6, "plugin worse ←"));
    svg.append(side(bottom + 32, "start", 6, "→ plugin better"));
  }

  private String side(int y, String anchor, int distance, String text) {
    return format(
        "<text class='dim' text-anchor='%s' x='%.1f' y='%d'>%s</text>%n",
        anchor, x(1) + distance, y, text);
  }

  /** The interval as a line, dotted if it is none, the median as a point on it, and both as text. */
  private String interval(int y, @Nullable Ratio ratio, int colour) {
    if (ratio == null) {
      return text(TEXT_X, y, " class='dim'", "–");
    }
    int middle = y - 4;
    return format(
            "<line class='c%d' stroke-width='2'%s x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>%n",
            colour,
            ratio.hasInterval() ? "" : " stroke-dasharray='2 4'",
            x(ratio.low()),
            x(ratio.high()),
            middle,
            middle)
        + format(
            "<circle class='c%d' r='4' cx='%.1f' cy='%d'/>%n", colour, x(ratio.median()), middle)
        + text(TEXT_X, y, "", ratio.toString());
  }

  private double x(double ratio) {
    return AXIS_X + AXIS_WIDTH * Math.log(ratio / low) / Math.log(high / low);
  }

  /** The finest ticks that are few enough. */
  private List<Double> ticks() {
    List<Double> ticks = new ArrayList<>();
    for (double[] steps : TICKS) {
      ticks.clear();
      for (int power = -6; power <= 6; power++) {
        double unit = Math.pow(10, power);
        Arrays.stream(steps)
            .map(step -> step * unit)
            .filter(tick -> tick >= low && tick <= high)
            .forEach(ticks::add);
      }
      if (ticks.size() <= MOST_TICKS) {
        break;
      }
    }
    return ticks;
  }

  private static String text(int x, int y, String attributes, String text) {
    return format("<text x='%d' y='%d'%s>%s</text>%n", x, y, attributes, Html.escape(text));
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
