/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Locale;

/** A text of HTML that grows. What is given as text is escaped. One thread uses it. */
final class Html {
  private final StringBuilder text = new StringBuilder();

  Html raw(String html) {
    text.append(html);
    return this;
  }

  Html text(String plain) {
    for (int i = 0; i < plain.length(); i++) {
      char c = plain.charAt(i);
      switch (c) {
        case '<' -> text.append("&lt;");
        case '>' -> text.append("&gt;");
        case '&' -> text.append("&amp;");
        case '"' -> text.append("&quot;");
        case '\'' -> text.append("&#39;");
        default -> text.append(c);
      }
    }
    return this;
  }

  /** Begins a table like Spark's, and the row of its heads. */
  Html table(String id) {
    return raw("<table class=\"table table-bordered table-sm table-striped sortable\" id=\"" + id
        + "\"><thead><tr>");
  }

  /** A cell of a table with a number, by which Spark's script sorts the column. */
  Html number(long value, String shown) {
    return raw("<td sorttable_customkey=\"" + value + "\">")
        .text(value == 0 ? "" : shown)
        .raw("</td>");
  }

  Html cell(String plain) {
    return raw("<td>").text(plain).raw("</td>");
  }

  static String bytes(long bytes) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  }

  static String micros(long micros) {
    return micros < 1_000_000
        ? String.format(Locale.ROOT, "%.1f ms", micros / 1e3)
        : String.format(Locale.ROOT, "%.1f s", micros / 1e6);
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
