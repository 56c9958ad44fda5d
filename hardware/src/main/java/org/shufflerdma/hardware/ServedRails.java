/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/** The rails of a host that serves, with the test file registered on each. One thread uses it. */
final class ServedRails implements AutoCloseable {
  /** Tells the other host that its attempt to connect has been answered, or that none came. */
  static final int ANSWERED = 1;

  private final Acquired acquired = new Acquired();
  private final List<Links> links = new ArrayList<>();
  private final List<Offer.OfRail> offers = new ArrayList<>();

  private ServedRails() {}

  static ServedRails open(List<DeviceTrial.Rail> rails, TestFile file) throws IOException {
    ServedRails served = new ServedRails();
    try {
      for (DeviceTrial.Rail rail : rails) {
        served.add(rail, file);
      }
      return served;
    } catch (Throwable t) {
      served.close();
      throw t;
    }
  }

  private void add(DeviceTrial.Rail rail, TestFile file) throws IOException {
    Links ofRail = acquired.keep(new Links(rail.address()));
    MappedFile mapped = acquired.keep(MappedFile.open(file.path()));
    MemoryRegion region =
        acquired.keep(ofRail.domain().register(mapped, 0, Reader.CHUNK_BYTES, Access.REMOTE_READ));
    links.add(ofRail);
    offers.add(new Offer.OfRail(rail.name(), RemoteMemory.of(region), ofRail.address()));
  }

  List<Offer.OfRail> offers() {
    return offers;
  }

  /** Accepts a connection to the rail of each number that the other host sends, until it sends no more. */
  void accept(
      InputStream in, DataOutputStream out, ConnectionSettings settings, Consumer<String> progress)
      throws IOException {
    int number;
    while ((number = in.read()) >= 0) {
      if (number >= links.size()) {
        throw new IOException("the other host sent what it should not");
      }
      try {
        links.get(number).accept(settings);
      } catch (IOException e) {
        progress.accept(offers.get(number).name() + ": " + e.getMessage());
      }
      out.writeByte(ANSWERED);
      out.flush();
    }
  }

  @Override
  public void close() {
    acquired.close();
  }
}
