/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels have pages of 4 KiB, and on aarch64 often of 64 KiB. */
class RegistrationBudgetTest {
  @ParameterizedTest
  @ValueSource(longs = {4 << 10, 64 << 10})
  void wholePagesOfTheKernelAreCounted(long pageBytes) {
    RegistrationBudget budget = new RegistrationBudget(3 * pageBytes, "a test", pageBytes);
    assertThat(budget.tryTake(1)).isTrue();
    assertThat(budget.usedBytes()).isEqualTo(pageBytes);
    assertThat(budget.tryTake(pageBytes + 1)).isTrue();
    assertThat(budget.usedBytes()).isEqualTo(3 * pageBytes);
    assertThat(budget.tryTake(1)).isFalse();
    budget.giveBack(pageBytes + 1);
    assertThat(budget.usedBytes()).isEqualTo(pageBytes);
    assertThat(budget.pages(pageBytes)).isEqualTo(pageBytes);
    assertThat(budget.pages(0)).isZero();
  }

  @ParameterizedTest
  @ValueSource(longs = {4 << 10, 64 << 10})
  void noMoreIsGivenBackThanWasTaken(long pageBytes) {
    RegistrationBudget budget = new RegistrationBudget(3 * pageBytes, "a test", pageBytes);
    assertThat(budget.tryTake(1)).isTrue();
    assertThatThrownBy(() -> budget.giveBack(pageBytes + 1))
        .isInstanceOf(IllegalStateException.class);
  }
}
