/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.Serializable;
import java.net.InetSocketAddress;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;

/**
 * What an executor under examination offers to the others to be read: where its transport listens, a region of test bytes, and
 * where the same host answers over TCP.
 *
 * @param seed of the region's {@link TestBytes}
 */
record PairOffer(
    String executorId,
    String host,
    int port,
    long nonceHigh,
    long nonceLow,
    long regionAddress,
    int rkey,
    long lengthBytes,
    long seed,
    InetSocketAddress tcp)
    implements Serializable {
  PeerId peer() {
    return new PeerId(executorId, new RdmaEndpoint(host, port, new Nonce(nonceHigh, nonceLow)));
  }

  RemoteMemory memory() {
    return new RemoteMemory(regionAddress, rkey, lengthBytes);
  }
}
