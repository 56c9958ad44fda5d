/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** One figure of a benchmark: how each other side did beside the plugin in each scenario. */
record Comparison(String benchmark, String figure, List<Row> rows) {
  /**
   * One side in one scenario; it is the plugin where a scenario has no other side.
   *
   * @param other median of all runs of the side
   * @param plugin median of all runs of the plugin
   * @param ratio over the rounds that applications of the same number of both have made; null if there is none, or nothing to divide by
   */
  record Row(
      String scenario,
      String side,
      double other,
      double plugin,
      @Nullable Ratio ratio) {
    private double median() {
      return ratio == null ? Double.POSITIVE_INFINITY : ratio.median();
    }
  }

  /** With more of them than this, those in which the plugin did worst come first. */
  private static final int MANY_SCENARIOS = 20;

  /** Returns the comparisons of all figures of all benchmarks. */
  static List<Comparison> of(List<Run> runs) {
    Map<String, Map<String, Map<String, List<Run>>>> figures = new TreeMap<>();
    Map<String, List<String>> names = new TreeMap<>();
    for (Run run : runs) {
      figures
          .computeIfAbsent(run.benchmark(), key -> new LinkedHashMap<>())
          .computeIfAbsent(run.scenario(), key -> new TreeMap<>())
          .computeIfAbsent(run.side(), key -> new ArrayList<>())
          .add(run);
      List<String> known = names.computeIfAbsent(run.benchmark(), key -> new ArrayList<>());
      run.figures().keySet().stream().filter(name -> !known.contains(name)).forEach(known::add);
    }
    List<Comparison> comparisons = new ArrayList<>();
    figures.forEach((benchmark, scenarios) -> {
      for (String figure : names.getOrDefault(benchmark, List.of())) {
        List<Row> rows = rows(scenarios, figure);
        if (!rows.isEmpty()) {
          comparisons.add(new Comparison(benchmark, figure, rows));
        }
      }
    });
    return comparisons;
  }

  private static List<Row> rows(Map<String, Map<String, List<Run>>> scenarios, String figure) {
    List<Row> rows = new ArrayList<>();
    scenarios.forEach((scenario, sides) -> {
      Map<Moment, Double> plugin = byMoment(sides.getOrDefault(Run.PLUGIN, List.of()), figure);
      boolean alone = sides.size() == 1;
      sides.forEach((side, ofSide) -> {
        Map<Moment, Double> other = byMoment(ofSide, figure);
        if (alone && !plugin.isEmpty()) {
          rows.add(new Row(scenario, side, median(plugin), median(plugin), null));
        } else if (!side.equals(Run.PLUGIN) && !other.isEmpty() && !plugin.isEmpty()) {
          rows.add(
              new Row(scenario, side, median(other), median(plugin), ratio(figure, other, plugin)));
        }
      });
    });
    if (scenarios.size() > MANY_SCENARIOS) {
      rows.sort(Comparator.comparingDouble(Row::median));
    }
    return rows;
  }

  /** Runs of the same moment were made one after the other, in applications that were started so. */
  private record Moment(int application, int round) {}

  private static Map<Moment, Double> byMoment(List<Run> runs, String figure) {
    Map<Moment, Double> values = new LinkedHashMap<>();
    for (Run run : runs) {
      @Nullable Double value = run.figures().get(figure);
      if (value != null) {
        values.put(new Moment(run.application(), run.round()), value);
      }
    }
    return values;
  }

  private static double median(Map<Moment, Double> values) {
    return Ratio.median(
        values.values().stream().mapToDouble(Double::doubleValue).toArray());
  }

  /** Above 1 where the plugin was better. */
  private static @Nullable Ratio ratio(
      String figure, Map<Moment, Double> other, Map<Moment, Double> plugin) {
    boolean moreIsBetter = figure.endsWith("/s");
    Map<Integer, DoubleStream.Builder> ratios = new TreeMap<>();
    other.forEach((moment, value) -> {
      @Nullable Double ofPlugin = plugin.get(moment);
      if (ofPlugin != null && value > 0 && ofPlugin > 0) {
        ratios
            .computeIfAbsent(moment.application(), key -> DoubleStream.builder())
            .add(moreIsBetter ? ofPlugin / value : value / ofPlugin);
      }
    });
    return ratios.isEmpty()
        ? null
        : Ratio.of(ratios.values().stream().map(each -> each.build().toArray()).toList());
  }

  /** A name for a file, of small letters, digits and dashes. */
  String fileName() {
    return (benchmark + "-" + figure).toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
  }
}
