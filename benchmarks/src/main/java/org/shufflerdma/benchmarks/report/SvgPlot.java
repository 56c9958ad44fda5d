/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Draws the ratios of a comparison with their intervals on a logarithmic axis, as SVG that needs
 * nothing else. It has a title, says what its axis is, and brings a background of its own, light or
 * dark as the reader's system prefers, because pages that show it do not all follow that.
 */
final class SvgPlot {
  private static final int LEFT = 12;
  private static final int SIDE_X = 162;
  private static final int AXIS_X = 287;
  private static final int AXIS_WIDTH = 320;
  private static final int TEXT_X = AXIS_X + AXIS_WIDTH + 14;
  private static final int WIDTH = TEXT_X + 160;
  private static final int LINE = 20;
  private static final int GAP = 8;
  private static final int TITLE_Y = 24;
  private static final int TOP = 38;
  private static final int AXIS_HEIGHT = 64;
  private static final int MOST_TICKS = 8;
  private static final int COLOURS = 4;

  /** Steps between 1 and 10 where the axis has ticks, the finest first. */
  private static final double[][] TICKS = {
    {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5},
    {1, 1.2, 1.5, 2, 3, 4, 6, 8},
    {1, 2, 5},
    {1}
  };

  private static final String AXIS =
      "Logarithmic scale. Point: median ratio. Line: its 95 % interval, or dotted, the least to the most.";

  private static final String STYLE = """
      <style>
        .plot { font: 12px system-ui, sans-serif; fill: #1f2328; }
        .plot .back { fill: #ffffff; } .plot .title { font-weight: 600; font-size: 14px; }
        .plot .axis { stroke: #afb8c1; } .plot .one { stroke: #1f2328; } .plot .dim { fill: #59636e; }
        .plot .c0 { stroke: #0969da; fill: #0969da; } .plot .c1 { stroke: #bc4c00; fill: #bc4c00; }
        .plot .c2 { stroke: #1a7f37; fill: #1a7f37; } .plot .c3 { stroke: #8250df; fill: #8250df; }
        @media (prefers-color-scheme: dark) {
          .plot { fill: #e6edf3; } .plot .back { fill: #0d1117; }
          .plot .axis { stroke: #484f58; } .plot .one { stroke: #e6edf3; } .plot .dim { fill: #9198a1; }
          .plot .c0 { stroke: #58a6ff; fill: #58a6ff; } .plot .c1 { stroke: #f0883e; fill: #f0883e; }
          .plot .c2 { stroke: #3fb950; fill: #3fb950; } .plot .c3 { stroke: #bc8cff; fill: #bc8cff; }
        }
      </style>
      """;

  private final Comparison comparison;
  private final List<Double> ticks;
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
    this.ticks = ticks(least, most);
    this.low = ticks.get(0) / 1.03;
    this.high = ticks.get(ticks.size() - 1) * 1.03;
  }

  /** Colours tell sides apart. */
  static String draw(Comparison comparison) {
    return new SvgPlot(comparison).draw(Comparison.Row::side);
  }

  /** Colours tell scenarios apart. */
  static String drawByScenario(Comparison comparison) {
    return new SvgPlot(comparison).draw(Comparison.Row::scenario);
  }

  private String draw(Function<Comparison.Row, String> coloured) {
    List<String> kinds =
        comparison.rows().stream().map(coloured).distinct().sorted().toList();
    boolean isGrouped =
        comparison.rows().stream().map(Comparison.Row::side).distinct().count() > 1;
    StringBuilder rows = new StringBuilder();
    int y = TOP;
    String before = "";
    for (Comparison.Row row : comparison.rows()) {
      y += row.scenario().equals(before) || !isGrouped ? LINE : LINE + GAP;
      if (!row.scenario().equals(before)) {
        rows.append(text(LEFT, y, "", row.scenario()));
        before = row.scenario();
      }
      rows.append(text(SIDE_X, y, " class='dim'", row.side()));
      rows.append(interval(y, row.ratio(), kinds.indexOf(coloured.apply(row)) % COLOURS));
    }
    int bottom = y + GAP;
    svg.append(
        "<svg xmlns='http://www.w3.org/2000/svg' class='plot' role='img' viewBox='0 0 %d %d' width='%d'>%n"
            .formatted(WIDTH, bottom + AXIS_HEIGHT, WIDTH));
    String title = comparison.benchmark() + ": " + comparison.figure();
    svg.append("<title>%s</title>%n".formatted(Html.escape(title)));
    svg.append(STYLE);
    svg.append("<rect class='back' width='100%' height='100%'/>\n");
    svg.append(text(LEFT, TITLE_Y, " class='title'", title));
    axis(bottom);
    return svg.append(rows).append("</svg>\n").toString();
  }

  private void axis(int bottom) {
    for (double tick : ticks) {
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
    svg.append(text(LEFT, bottom + 53, " class='dim'", AXIS));
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

  /** The finest ticks that are few enough, from one that is no more than the least to one that is no less than the most. */
  private static List<Double> ticks(double least, double most) {
    List<Double> ticks = new ArrayList<>();
    for (double[] steps : TICKS) {
      List<Double> all = new ArrayList<>();
      for (int power = -6; power <= 6; power++) {
        double unit = Math.pow(10, power);
        Arrays.stream(steps).forEach(step -> all.add(step * unit));
      }
      double first = all.stream().filter(tick -> tick <= least).reduce(least, (one, next) -> next);
      double last = all.stream().filter(tick -> tick >= most).findFirst().orElse(most);
      ticks = all.stream().filter(tick -> tick >= first && tick <= last).toList();
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
