/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Reads one setting after the other from a configuration, and remembers which settings there are,
 * so that each is declared where it is read.
 */
final class SettingReader {
  private final Map<String, String> conf;
  private final String prefix;
  private final List<Setting<?>> declared = new ArrayList<>();

  /**
   * @param conf keys without {@code prefix} are ignored
   */
  SettingReader(Map<String, String> conf, String prefix) {
    this.conf = conf;
    this.prefix = prefix;
  }

  String prefix() {
    return prefix;
  }

  <T extends @Nullable Object> T read(String name, ValueType<T> type, String defaultText) {
    Setting<T> setting = new Setting<>(name, type, defaultText);
    declared.add(setting);
    return setting.read(conf, prefix);
  }

  /** Returns the settings that have been read so far, in this order. */
  List<Setting<?>> declared() {
    return declared;
  }

  /**
   * Returns a sentence on each key under the prefix that no setting has: it names the setting whose name is
   * the nearest.
   */
  List<String> unknown() {
    List<String> sentences = new ArrayList<>();
    for (String key : new TreeSet<>(conf.keySet())) {
      String name = key.startsWith(prefix) ? key.substring(prefix.length()) : null;
      if (name != null && declared.stream().noneMatch(known -> known.name().equals(name))) {
        sentences.add(key + " is unknown and has no effect. The nearest setting is " + prefix
            + nearestTo(name) + ": correct the key or remove it.");
      }
    }
    return sentences;
  }

  /** Refuses the first key under the prefix that no setting has. */
  void refuseUnknown() {
    for (String sentence : unknown()) {
      throw new InvalidSettingException(sentence);
    }
  }

  private String nearestTo(String name) {
    return declared.stream()
        .map(Setting::name)
        .min(Comparator.comparingInt(known -> editsBetween(known, name)))
        .orElseThrow();
  }

  /** Returns how many letters must be put in, taken out or replaced; capitals are like small letters. */
  private static int editsBetween(String left, String right) {
    String from = left.toLowerCase(Locale.ROOT);
    String to = right.toLowerCase(Locale.ROOT);
    int[] edits =
        new int[to.length() + 1]; // from the letters of `from` so far to each beginning of `to`
    Arrays.setAll(edits, letters -> letters);
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = edits[0];
      edits[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = edits[j];
        edits[j] = Math.min(replaced, 1 + Math.min(edits[j], edits[j - 1]));
      }
    }
    return edits[to.length()];
  }
}
