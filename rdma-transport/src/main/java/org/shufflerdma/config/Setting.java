/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One setting: its name, type and default, and the way to read it. docs/configuration.md says what
 * it means.
 *
 * @param name the key without the prefix that the user of the core gives to all keys
 */
record Setting<T extends @Nullable Object>(String name, ValueType<T> type, String defaultText) {
  /** Returns the value that {@code conf} has below {@code prefix}, or else the default. */
  T read(Map<String, String> conf, String prefix) {
    String key = prefix + name;
    String text = conf.getOrDefault(key, defaultText).trim();
    try {
      return type.reader().apply(text);
    } catch (IllegalArgumentException | ArithmeticException e) {
      String why = e.getMessage();
      throw new InvalidSettingException(String.format(
          "%s=%s is refused (%s): expected %s, %s; default %s. Correct the value or remove the"
              + " setting.",
          key,
          text,
          e instanceof NumberFormatException || why == null ? "not a number" : why,
          type.name(),
          type.range(),
          defaultText.isEmpty() ? "empty" : defaultText));
    }
  }
}
