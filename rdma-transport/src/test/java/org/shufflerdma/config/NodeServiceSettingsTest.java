/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shufflerdma.DocsPage;

class NodeServiceSettingsTest {
  @Test
  void theirPageHasEachWithItsDefault() throws Exception {
    SettingReader reader = new SettingReader(Map.of(), NodeServiceSettings.PREFIX);
    NodeServiceSettings.read(reader);
    List<List<String>> rows =
        DocsPage.named("node-service.md").rows("| setting | default | meaning |").stream()
            .filter(row -> row.get(0).startsWith("`" + NodeServiceSettings.PREFIX))
            .toList();
    assertThat(rows.stream().map(row -> row.get(0)))
        .containsExactlyElementsOf(reader.declared().stream()
            .map(setting -> "`" + NodeServiceSettings.PREFIX + setting.name() + "`")
            .toList());
    for (int i = 0; i < rows.size(); i++) {
      String value = reader.declared().get(i).defaultText();
      assertThat(rows.get(i).get(1).replace("`", ""))
          .isIn(value.isEmpty() ? List.of("the host's own name", "none") : List.of(value));
    }
  }

  @Test
  void aKeyThatIsMisspeltIsRefused() {
    assertThatThrownBy(() -> NodeServiceSettings.from(Map.of("service.prot", "1")))
        .isInstanceOf(InvalidSettingException.class)
        .hasMessageContaining("service.prot");
  }
}
