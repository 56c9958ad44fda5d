/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Settings of an application as its log has them, with Spark's defaults and units. */
record SparkProperties(Map<String, String> values) {
  private static final Pattern SIZE = Pattern.compile("(\\d{1,15})(b|kb?|mb?|gb?|tb?)?");
  private static final String UNITS = "bkmgt";

  static final String SQL_PARTITIONS = "spark.sql.shuffle.partitions";
  static final String INITIAL_PARTITIONS =
      "spark.sql.adaptive.coalescePartitions.initialPartitionNum";
  static final String ADAPTIVE = "spark.sql.adaptive.enabled";

  /** Whether SQL tells the setting with each stage, since sessions change it. */
  static boolean isOfSession(String key) {
    return key.equals(SQL_PARTITIONS) || key.equals(INITIAL_PARTITIONS) || key.equals(ADAPTIVE);
  }

  String get(String key, String otherwise) {
    return values.getOrDefault(key, otherwise);
  }

  boolean isTrue(String key, boolean otherwise) {
    return get(key, Boolean.toString(otherwise)).equalsIgnoreCase("true");
  }

  /** Returns a number; what is no number counts as not set, as Spark would not have started with it. */
  long number(String key, long otherwise) {
    String text = values.get(key);
    return text != null && text.matches("\\d{1,15}") ? Long.parseLong(text) : otherwise;
  }

  double fraction(String key, double otherwise) {
    String text = values.get(key);
    return text != null && text.matches("\\d{1,9}(\\.\\d{1,9})?")
        ? Double.parseDouble(text)
        : otherwise;
  }

  /** @param unit of a number without one: b, k, m, g or t */
  long bytes(String key, char unit, String otherwise) {
    Long set = parsed(values.get(key), unit);
    return set == null ? bytesOf(otherwise) : set;
  }

  /** Returns null if it is not set. */
  @Nullable
  Long bytesIfSet(String key, char unit) {
    return parsed(values.get(key), unit);
  }

  private static long bytesOf(String size) {
    Long bytes = parsed(size, 'b');
    return bytes == null ? 0 : bytes;
  }

  private static @Nullable Long parsed(@Nullable String text, char unit) {
    Matcher size = SIZE.matcher(text == null ? "" : text.trim().toLowerCase(Locale.ROOT));
    if (!size.matches()) {
      return null;
    }
    char scale = size.group(2) == null ? unit : size.group(2).charAt(0);
    long number = Long.parseLong(size.group(1));
    int shift = 10 * UNITS.indexOf(scale);
    return number > Long.MAX_VALUE >> shift ? null : number << shift;
  }
}
