/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

/** Throws checked exceptions where Spark's Scala code throws them and Java's interfaces declare none. */
final class Unchecked {
  private Unchecked() {}

  /** Throws {@code failure} as it is. The return type lets the caller write {@code throw}. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException thrown(Throwable failure) throws E {
    throw (E) failure;
  }
}
