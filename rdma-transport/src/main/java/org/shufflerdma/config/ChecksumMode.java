/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** Where the checksums come from that every block is verified with before delivery. */
public enum ChecksumMode {
  /** Spark's own values where they cover the file's bytes, else computed by the map task. */
  AUTO,
  /** Always computed by the map task from the committed file. */
  OWN,
  /** None: blocks are delivered unverified. */
  OFF
}
