/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PairingTest {
  private static final List<String> NAMES = List.of("a", "b", "c", "d", "e", "f");

  @Test
  void eachPairComesOnceInBothDirectionsAndNobodyTwiceAtATime() {
    Pairing pairing = new Pairing(NAMES);
    Set<Pairing.Pair> seen = new HashSet<>();
    int rounds = 0;
    while (!pairing.isEmpty()) {
      Set<String> busy = new HashSet<>();
      Pairing.Pair pair = pairing.next(busy);
      while (pair != null) {
        assertThat(busy).doesNotContain(pair.from(), pair.to());
        busy.addAll(List.of(pair.from(), pair.to()));
        assertThat(seen.add(pair)).isTrue();
        pair = pairing.next(busy);
      }
      rounds++;
    }
    assertThat(seen)
        .hasSize(NAMES.size() * (NAMES.size() - 1))
        .noneMatch(pair -> pair.from().equals(pair.to()));
    assertThat(rounds).as("of three pairs each, ten would suffice").isLessThanOrEqualTo(20);
  }

  @Test
  void pairsOfOneThatIsGoneAreTakenOut() {
    Pairing pairing = new Pairing(NAMES);
    assertThat(pairing.remove("c"::equals)).hasSize(2 * (NAMES.size() - 1));
    List<Pairing.Pair> left = new ArrayList<>();
    for (Pairing.Pair pair = pairing.next(Set.of()); pair != null; pair = pairing.next(Set.of())) {
      left.add(pair);
    }
    assertThat(left)
        .hasSize(20)
        .noneMatch(pair -> pair.from().equals("c") || pair.to().equals("c"));
  }

  @Test
  void oneAloneHasNoPair() {
    assertThat(new Pairing(List.of("a")).isEmpty()).isTrue();
    assertThat(new Pairing(List.of()).isEmpty()).isTrue();
  }
}
