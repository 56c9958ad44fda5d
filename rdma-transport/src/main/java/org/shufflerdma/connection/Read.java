/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/**
 * One RDMA READ of a list.
 *
 * @param lengthBytes never zero: a device may take a zero for 2 GiB
 * @param sinkOffset where the bytes go in the list's buffer
 */
public record Read(long remoteAddress, int rkey, int lengthBytes, long sinkOffset) {
  public Read {
    if (lengthBytes <= 0 || sinkOffset < 0) {
      throw new IllegalArgumentException("READ of " + lengthBytes + " bytes to " + sinkOffset);
    }
  }
}
