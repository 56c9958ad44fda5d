/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

/** Reports that something did not end within its deadline. */
final class HungException extends Exception {
  private static final long serialVersionUID = 1L;

  HungException(String message) {
    super(message);
  }
}
