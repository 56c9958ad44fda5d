/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * All ordered pairs of participants, in an order in which neighbours share none as far as that is possible: the rounds of a tournament. One
 * thread uses it.
 */
final class Pairing {
  record Pair(String from, String to) {}

  private final List<Pair> left = new ArrayList<>();

  Pairing(List<String> names) {
    for (int distance = 1; distance < names.size(); distance++) {
      for (int i = 0; i < names.size(); i++) {
        left.add(new Pair(names.get(i), names.get((i + distance) % names.size())));
      }
    }
  }

  boolean isEmpty() {
    return left.isEmpty();
  }

  /** Takes out the next pair of which nobody is busy; null if there is none now. */
  @Nullable
  Pair next(Set<String> busy) {
    for (Iterator<Pair> each = left.iterator(); each.hasNext(); ) {
      Pair pair = each.next();
      if (!busy.contains(pair.from) && !busy.contains(pair.to)) {
        each.remove();
        return pair;
      }
    }
    return null;
  }

  /** Takes out all pairs with a participant of that kind. */
  List<Pair> remove(Predicate<String> isGone) {
    List<Pair> gone = left.stream()
        .filter(pair -> isGone.test(pair.from) || isGone.test(pair.to))
        .toList();
    left.removeAll(gone);
    return gone;
  }
}
