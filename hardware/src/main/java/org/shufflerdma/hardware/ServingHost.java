/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.DataOutputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * Lets one other host read a registered file by RDMA, and as many bytes by TCP, until that host
 * closes the control connection. Whoever reaches the ports can read the file, which has nothing but
 * test data.
 */
final class ServingHost {
  private static final int READER_PATIENCE_MS = (int) TimeUnit.MINUTES.toMillis(30);
  private static final int READING_PATIENCE_MS = (int) TimeUnit.MINUTES.toMillis(10);

  private ServingHost() {}

  /**
   * @param address of the device
   * @param port of the control connection; TCP data goes over the next one
   * @param own the rails of this host, if it has several
   * @param progress is told when the other host may begin
   */
  static void serve(
      Bench bench,
      InetAddress address,
      int port,
      List<DeviceTrial.Rail> own,
      Consumer<String> progress)
      throws IOException {
    try (MappedFile mapped = MappedFile.open(bench.file().path());
        MemoryRegion region = bench.register(mapped);
        ServedRails rails = ServedRails.open(own, bench.file());
        TcpSource source =
            TcpSource.open(new InetSocketAddress(address, port + 1), TcpSource.NO_TOKEN);
        ServerSocket listener = new ServerSocket()) {
      listener.setReuseAddress(true);
      listener.bind(new InetSocketAddress(address, port), 1);
      listener.setSoTimeout(READER_PATIENCE_MS);
      progress.accept(
          "start it on the other host now, with --peer " + address.getHostAddress() + ":" + port);
      try (Socket control = listener.accept()) {
        control.setSoTimeout(READING_PATIENCE_MS);
        Offer offer = new Offer(
            RemoteMemory.of(region),
            bench.file().bytes(),
            bench.links().address(),
            source.address(),
            rails.offers());
        DataOutputStream out = new DataOutputStream(control.getOutputStream());
        offer.write(out);
        bench.links().accept(bench.settings());
        progress.accept("the other host reads");
        rails.accept(control.getInputStream(), out, bench.settings(), progress);
      }
    } catch (BindException e) {
      throw new IOException(
          "--serve " + port + ": this port or the next one is in use (" + e.getMessage()
              + "); give another",
          e);
    } catch (SocketTimeoutException e) {
      throw new IOException(
          "--serve " + port + ": no host came with --peer within "
              + TimeUnit.MILLISECONDS.toMinutes(READER_PATIENCE_MS)
              + " minutes, or the one that came did not end within "
              + TimeUnit.MILLISECONDS.toMinutes(READING_PATIENCE_MS) + "; start it again",
          e);
    }
  }
}
