/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;

/** TeraSort's order of keys: byte by byte, unsigned. */
enum KeyOrder implements Comparator<byte[]>, Serializable {
  INSTANCE;

  @Override
  public int compare(byte[] left, byte[] right) {
    return Arrays.compareUnsigned(left, right);
  }
}
