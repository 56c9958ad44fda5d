/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.file.Path;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * A process that registers the file of its argument, says where peers can READ it, and serves until
 * its standard input ends.
 */
final class FileOwner {
  static final String EXECUTOR = "owner";

  /** The line that says where: host, port, boot nonce, address and rkey follow. */
  static final String SERVES = "serves ";

  private FileOwner() {}

  public static void main(String[] arguments) throws Exception {
    try (RdmaTransport transport = TestTransports.open(EXECUTOR);
        MappedFile file = MappedFile.open(Path.of(arguments[0]));
        MemoryRegion region =
            transport.protectionDomain().register(file, 0, file.size(), Access.REMOTE_READ)) {
      RdmaEndpoint at = transport.endpoint();
      System.out.println(SERVES
          + String.join(
              " ",
              at.host(),
              String.valueOf(at.port()),
              at.bootNonce().toHex(),
              String.valueOf(region.address()),
              String.valueOf(region.rkey())));
      while (System.in.read() >= 0) {
        // nothing is said to it
      }
    }
  }
}
