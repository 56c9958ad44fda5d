/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** What writes the map outputs of shuffles that combine nothing on the map side. */
public enum WriterMode {
  /** The plugin's own writer. */
  AUTO,
  /** Spark's writers. */
  SPARK
}
