/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes maps, lists, numbers, booleans and texts as indented JSON. */
final class Json {
  private static final String STEP = "  ";

  private Json() {}

  /** Returns an object of the given names and values, which take turns, in this order; a name whose value is null is left out. */
  static Map<String, Object> object(@Nullable Object... namesAndValues) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      Object value = namesAndValues[i + 1];
      if (value != null) {
        object.put(String.valueOf(namesAndValues[i]), value);
      }
    }
    return object;
  }

  static String of(Object value) {
    StringBuilder out = new StringBuilder();
    write(out, value, "\n");
    return out.append('\n').toString();
  }

  private static void write(StringBuilder out, Object value, String newLine) {
    if (value instanceof Map<?, ?> map) {
      write(out, '{', map.entrySet().iterator(), '}', newLine);
    } else if (value instanceof List<?> list) {
      write(out, '[', list.iterator(), ']', newLine);
    } else if (value instanceof Map.Entry<?, ?> entry) {
      quote(out, entry.getKey().toString());
      out.append(": ");
      write(out, entry.getValue(), newLine);
    } else if (value instanceof Double number) {
      out.append(Double.isFinite(number) ? String.format(Locale.ROOT, "%.6g", number) : "null");
    } else if (value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else {
      quote(out, value.toString());
    }
  }

  private static void write(
      StringBuilder out, char open, Iterator<?> items, char close, String newLine) {
    out.append(open);
    boolean any = items.hasNext();
    while (items.hasNext()) {
      out.append(newLine).append(STEP);
      write(out, items.next(), newLine + STEP);
      out.append(items.hasNext() ? "," : "");
    }
    out.append(any ? newLine : "").append(close);
  }

  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
