/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.ArrayList;
import java.util.List;
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

  /** Refuses the first key under the prefix that no setting has. */
  void refuseUnknown() {
    List<String> known = declared.stream().map(Setting::name).toList();
    for (String key : new TreeSet<>(conf.keySet())) {
      if (key.startsWith(prefix) && !known.contains(key.substring(prefix.length()))) {
        throw new InvalidSettingException("unknown setting " + key
            + ". Correct or remove it; all settings: " + prefix + "{" + String.join(", ", known)
            + "}");
      }
    }
  }
}
