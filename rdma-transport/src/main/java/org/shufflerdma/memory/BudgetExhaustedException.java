/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;

/** Reports that a registration does not fit the {@link RegistrationBudget} at present. */
public final class BudgetExhaustedException extends IOException {
  private static final long serialVersionUID = 1L;

  BudgetExhaustedException(String message) {
    super(message);
  }
}
