/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class RedactionTest {
  private final Redaction redaction = new Redaction(
      Map.of("10.1.2.3", "[address]", "node7", "[host]", "/home/ada", "[home]", "n", "[never]"));

  @Test
  void namesAndAddressesOfTheHostAreMasked() {
    assertThat(redaction.of("node7 cannot be opened at 10.1.2.3: see /home/ada/log."))
        .isEqualTo("[host] cannot be opened at [address]: see [home]/log.");
    assertThat(redaction.of("no peer at 10.1.2.3.")).isEqualTo("no peer at [address].");
  }

  @Test
  void namesThatOnlyBeginLikeThemStay() {
    String text = "node77, 110.1.2.3, 10.1.2.34, firmware 10.1.2.3.4, n";
    assertThat(redaction.of(text)).isEqualTo(text);
  }

  @Test
  void whateverLooksLikeAHardwareAddressOrGidIsMasked() {
    for (String secret : new String[] {
      "b8:3f:d2:aa:bb:cc",
      "b83f:d203:00aa:bbcc",
      "fe80:0000:0000:0000:ba3f:d2ff:feaa:bbcc",
      "fe80:0:0:0:ba3f:d2ff:feaa:bbcc",
      "fe80::ba3f:d2ff:feaa:bbcc",
      "2001:db8::7"
    }) {
      assertThat(redaction.of("\"" + secret + "\", " + secret))
          .isEqualTo("\"[address]\", [address]");
    }
  }

  @Test
  void hardwareAddressesInNamesAreMasked() {
    assertThat(redaction.of("enxb83fd2aabbcc, rocexb83fd20300aabbcc:1, enp3s0f0np0, ens5"))
        .isEqualTo("enx[address], rocex[address]:1, enp3s0f0np0, ens5");
  }

  @Test
  void versionsTimesSlotsAndPrioritiesStay() {
    String text = "2026-11-25T09:30:16Z, firmware 229.0.123.0, slot 0000:3b:00.0, 4: ACTIVE,"
        + " mlx5_0:1, prio-pfc 0:off 3:on, dscp-prio 26:3, \"max_mr\": 8192";
    assertThat(redaction.of(text)).isEqualTo(text);
  }
}
