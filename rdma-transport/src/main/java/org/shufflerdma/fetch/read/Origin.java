/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.read;

/** Where the bytes of a block were READ from. */
public enum Origin {
  /** The registered map output. */
  REGISTERED,
  /** Memory in which their owner staged them, as the map output is not registered. */
  STAGED,
  /** Memory in which the node service of the owner's host staged them, as the owner does not serve them. */
  NODE_SERVICE
}
