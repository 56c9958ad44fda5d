/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

/**
 * The way by which one participant read from another.
 *
 * @param from the name of the reader
 * @param to the name of the one that was read
 */
public record Way(String from, String to, WayMeasurement measured) {
  boolean failed() {
    return measured.failure() != null;
  }

  @Override
  public String toString() {
    return from + " -> " + to;
  }
}
