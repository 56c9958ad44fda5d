/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

/** The origin of the checksums with which every block is verified before it is delivered. */
public enum ChecksumMode {
  /** Spark's own values where they cover the file's bytes; otherwise the map task computes them. */
  AUTO,
  /** The map task always computes them from the committed file. */
  OWN,
  /** There are none: blocks are delivered unverified. */
  OFF
}
