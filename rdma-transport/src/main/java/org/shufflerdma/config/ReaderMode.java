/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** Which thread of an executor reads the blocks of a reduce task. */
public enum ReaderMode {
  /** The task's own thread posts the READs and verifies and consumes the bytes. */
  DIRECT,
  /** Spark's block iterator asks for the blocks, and the fetcher's threads bring them. */
  SPARK
}
