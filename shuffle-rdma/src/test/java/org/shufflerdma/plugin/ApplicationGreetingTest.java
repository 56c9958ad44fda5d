/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ApplicationGreetingTest {
  private static final byte[] TOKEN = new byte[ApplicationGreeting.TOKEN_BYTES];

  @Test
  void comesBackAsSent() {
    byte[] serialized = {1, 2, 3};
    ApplicationGreeting sent = new ApplicationGreeting(TOKEN, Map.of("a.counter", serialized));
    ApplicationGreeting read = ApplicationGreeting.ofWire((Map<?, ?>) sent.toWire());
    assertThat(read.token()).isEqualTo(TOKEN);
    assertThat(read.accumulators()).isEqualTo(Map.of("a.counter", serialized));
  }

  @Test
  void anythingElseIsRefusedAndNothingIsCast() {
    Map<Object, Object> noName = new HashMap<>(Map.of(ApplicationGreeting.REQUEST, TOKEN));
    noName.put(null, TOKEN);
    Map<Object, Object> noValue = new HashMap<>(Map.of(ApplicationGreeting.REQUEST, TOKEN));
    noValue.put("a.counter", null);
    for (Map<?, ?> forged : List.of(
        Map.of(),
        Map.of("another request", TOKEN),
        Map.of(ApplicationGreeting.REQUEST, new byte[0]),
        Map.of(ApplicationGreeting.REQUEST, new byte[15]),
        Map.of(ApplicationGreeting.REQUEST, new byte[1 << 20]),
        Map.of(ApplicationGreeting.REQUEST, "a text of 16 chars"),
        Map.of(ApplicationGreeting.REQUEST, TOKEN, 4711, TOKEN),
        noName,
        noValue)) {
      assertThatIllegalArgumentException()
          .as("%s", forged.keySet())
          .isThrownBy(() -> ApplicationGreeting.ofWire(forged));
    }
  }
}
