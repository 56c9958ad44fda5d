/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One setting: everything a user can be told about it, and the way to read it.
 *
 * @param name after the common prefix
 */
record Setting<T extends @Nullable Object>(
    String name, ValueType<T> type, String defaultText, String doc) {
  static final String PREFIX = "spark.shuffle.rdma.";

  String key() {
    return PREFIX + name;
  }

  /** The value in {@code conf}, else the default. */
  T read(Map<String, String> conf) {
    String text = conf.getOrDefault(key(), defaultText).trim();
    try {
      return type.reader().apply(text);
    } catch (IllegalArgumentException | ArithmeticException e) {
      String why = e.getMessage();
      throw new InvalidSettingException(String.format(
          "%s=%s is refused (%s): expected %s, %s; default %s. Correct the value or remove the"
              + " setting.",
          key(),
          text,
          e instanceof NumberFormatException || why == null ? "not a number" : why,
          type.name(),
          type.range(),
          defaultText.isEmpty() ? "empty" : defaultText));
    }
  }
}
