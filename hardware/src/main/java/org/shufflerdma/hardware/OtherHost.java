/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.device.DeviceTrial;

/**
 * Compares the bytes of a file of another host, where a {@link ServingHost} runs, and measures READs
 * of it and TCP beside them.
 */
final class OtherHost {
  static final String NAME = "READ and TCP between two hosts";

  private static final int PATIENCE_MS = (int) TimeUnit.SECONDS.toMillis(60);

  private OtherHost() {}

  /**
   * @param address of the device
   * @param rails of this host, if it has several
   */
  static void measure(
      Report report,
      ConnectionSettings settings,
      InetAddress address,
      InetSocketAddress peer,
      List<DeviceTrial.Rail> rails)
      throws IOException {
    // Links of its own, because the other host's end of the connection is an event of theirs.
    try (Socket control = new Socket();
        Links links = new Links(address)) {
      control.setSoTimeout(PATIENCE_MS);
      Offer offer = offered(control, peer);
      try (Reader reader = Reader.open(links.connectTo(offer.rdma(), settings), links.domain());
          TcpReader tcp = TcpReader.open(offer.tcp(), TcpSource.NO_TOKEN, TcpReader.PATIENCE_MS)) {
        RightBytes.prove(report, "bytes of another host", reader, offer.memory(), offer.bytes());
        Speeds.measure(report, NAME, reader, offer.memory(), tcp);
      }
      RailPairs.toOtherHost(report, settings, rails, offer, control);
    }
  }

  private static Offer offered(Socket control, InetSocketAddress peer) throws IOException {
    try {
      control.connect(peer, PATIENCE_MS);
      return Offer.read(new DataInputStream(control.getInputStream()));
    } catch (IOException e) {
      throw new IOException(
          "the other host does not serve at --peer (start it there first, with --serve "
              + peer.getPort() + "): " + e.getMessage(),
          e);
    }
  }
}
