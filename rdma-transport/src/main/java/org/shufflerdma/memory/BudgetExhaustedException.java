/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;

/** What was to be registered does not fit the {@link RegistrationBudget} now. */
public final class BudgetExhaustedException extends IOException {
  private static final long serialVersionUID = 1L;

  BudgetExhaustedException(String message) {
    super(message);
  }
}
