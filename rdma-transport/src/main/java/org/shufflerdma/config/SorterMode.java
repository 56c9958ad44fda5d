/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** What sorts the records of a reduce task if their shuffle has an order of keys and no aggregator. */
public enum SorterMode {
  /** The plugin's own sorter. */
  AUTO,
  /** Spark's. */
  SPARK
}
