/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StagingBudgetTest {
  private static final int ALL = 10;

  private final StagingBudget budget = new StagingBudget(ALL);

  @Test
  void whoBeganToWaitFirstComesFirst() {
    assertThat(budget.tryTake("holder", ALL)).isTrue();
    assertThat(budget.tryTake("first", ALL)).isFalse();
    assertThat(budget.tryTake("second", ALL)).isFalse();
    budget.giveBack("holder", ALL);
    assertThat(budget.tryTake("second", ALL)).isFalse();
    assertThat(budget.tryTake("first", ALL)).isTrue();
  }

  /** A task that has got its bytes in another way asks no more, and does not say so. */
  @Test
  void whoAsksNoMoreLosesItsPlace() throws InterruptedException {
    assertThat(budget.tryTake("holder", ALL)).isTrue();
    assertThat(budget.tryTake("first", ALL)).isFalse();
    budget.giveBack("holder", ALL);
    assertThat(budget.tryTake("second", ALL)).isFalse();
    assertThat(budget.isWaitedFor()).isTrue();
    Thread.sleep(2_100);
    assertThat(budget.isWaitedFor()).isFalse();
    assertThat(budget.tryTake("second", ALL)).isTrue();
  }
}
