/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.Access;

/** How the device reaches the pages of registered map outputs. */
public enum OutputPaging {
  /** They stay in memory as long as they are registered, and share the budget of their descriptors. */
  PINNED(Access.REMOTE_READ),

  /**
   * The device asks for each page when a peer reads it (IBV_ACCESS_ON_DEMAND of ibv_reg_mr(3)). The kernel may
   * take the pages back, so they need no budget.
   */
  ON_DEMAND(Access.REMOTE_READ | Access.ON_DEMAND);

  private final int access;

  OutputPaging(int access) {
    this.access = access;
  }

  int access() {
    return access;
  }

  RegistrationBudget budgetBeside(RegistrationBudget ofDescriptors) {
    return this == PINNED
        ? ofDescriptors
        : new RegistrationBudget(Long.MAX_VALUE, "pages of map outputs are not pinned");
  }
}
