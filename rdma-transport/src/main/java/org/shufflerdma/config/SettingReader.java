/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads one setting after the other from a configuration, and remembers which settings there are,
 * so that each is declared where it is read.
 */
final class SettingReader {
  private final Map<String, String> conf;
  private final List<Setting<?>> declared = new ArrayList<>();

  /**
   * @param conf keys without the prefix are ignored
   */
  SettingReader(Map<String, String> conf) {
    this.conf = conf;
  }

  <T extends @Nullable Object> T read(String name, ValueType<T> type, String defaultText) {
    Setting<T> setting = new Setting<>(name, type, defaultText);
    declared.add(setting);
    return setting.read(conf);
  }

  /** Returns the settings that have been read so far, in this order. */
  List<Setting<?>> declared() {
    return declared;
  }

  /** Refuses the first key under the prefix that no setting has. */
  void refuseUnknown() {
    for (String key : new TreeSet<>(conf.keySet())) {
      String name = key.startsWith(Setting.PREFIX) ? key.substring(Setting.PREFIX.length()) : "";
      if (key.startsWith(Setting.PREFIX)
          && !KnownKeys.SPARK_RDMA.containsKey(name)
          && declared.stream().noneMatch(setting -> setting.name().equals(name))) {
        throw new InvalidSettingException("unknown setting "
            + key
            + ". Correct or remove it; all settings: "
            + declared.stream()
                .map(Setting::name)
                .collect(Collectors.joining(", ", Setting.PREFIX + "{", "}")));
      }
    }
  }
}
