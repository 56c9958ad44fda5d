/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Repeated measurements of one quantity, with their median and spread. One thread uses it. */
final class Samples {
  private final List<Double> values = new ArrayList<>();

  void add(double value) {
    values.add(value);
  }

  int count() {
    return values.size();
  }

  double median() {
    List<Double> sorted = sorted();
    int middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }

  double min() {
    return sorted().get(0);
  }

  double max() {
    return sorted().get(values.size() - 1);
  }

  private List<Double> sorted() {
    if (values.isEmpty()) {
      throw new IllegalStateException("nothing was measured");
    }
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    return sorted;
  }

  Map<String, Object> json() {
    return Json.object("median", median(), "min", min(), "max", max(), "rounds", count());
  }

  /** Returns the median, with the least and the most in parentheses. */
  @Override
  public String toString() {
    return number(median()) + " (" + number(min()) + " to " + number(max()) + ")";
  }

  /** Formats a number with three significant digits. */
  static String number(double value) {
    int decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }
}
