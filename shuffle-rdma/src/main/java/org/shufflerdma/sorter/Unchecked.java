/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

/** Throws checked exceptions where Spark's Scala code throws them and Java's interfaces declare none. */
public final class Unchecked {
  private Unchecked() {}

  /** Throws {@code failure} as it is. The return type lets the caller write {@code throw}. */
  @SuppressWarnings("unchecked")
  public static <E extends Throwable> RuntimeException thrown(Throwable failure) throws E {
    throw (E) failure;
  }
}
