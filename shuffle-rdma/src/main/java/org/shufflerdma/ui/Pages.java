/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.List;
import java.util.function.Consumer;

/**
 * A table's rows, of which a page shows some.
 *
 * @param parameter of the address of a page
 * @param anchor where the table is on it
 * @param previous what rows before these are called, and {@code next} those after them
 * @param number of the page, from 1
 */
record Pages<T>(
    List<T> all, String parameter, String anchor, String previous, String next, int number) {
  /** Rows on a page. */
  static final int ROWS = 100;

  /** A page that there is not stands for the nearest one. */
  Pages {
    number = Math.max(1, Math.min(count(all), number));
  }

  private static int count(List<?> all) {
    return Math.max(1, (all.size() + ROWS - 1) / ROWS);
  }

  /** Gives the rows to what writes the table, with ways to the other pages around it. */
  void show(Html html, Consumer<List<T>> table) {
    navigation(html);
    table.accept(all.subList((number - 1) * ROWS, Math.min(all.size(), number * ROWS)));
    navigation(html);
  }

  private void navigation(Html html) {
    if (count(all) == 1) {
      return;
    }
    html.raw("<p>");
    link(html, number - 1, previous);
    html.text(" Page " + number + " of " + count(all) + " ");
    link(html, number + 1, next);
    html.raw("</p>");
  }

  private void link(Html html, int to, String label) {
    if (to >= 1 && to <= count(all)) {
      html.raw("<a href=\"?" + parameter + "=" + to + "#" + anchor + "\">")
          .text(label)
          .raw("</a>");
    }
  }
}
