/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.Socket;
import java.util.List;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * READs from each rail to each, as executors do that use one rail each. A pair that fails is no reason against the device:
 * blocks between such executors come by TCP.
 */
final class RailPairs {
  static final String NAME = "rails";

  private RailPairs() {}

  /** Between executors of one host. */
  static void ofThisHost(Bench bench, List<DeviceTrial.Rail> rails) {
    for (DeviceTrial.Rail from : rails) {
      for (DeviceTrial.Rail to : rails) {
        tell(bench.report(), from.name() + " to " + to.name(), () -> {
          try (Links reading = new Links(from.address());
              Links serving = new Links(to.address());
              MappedFile mapped = MappedFile.open(bench.file().path());
              MemoryRegion region =
                  serving.domain().register(mapped, 0, Reader.CHUNK_BYTES, Access.REMOTE_READ)) {
            return read(
                reading,
                reading.connectTo(serving, bench.settings()).link(),
                RemoteMemory.of(region),
                bench.file().bytes());
          }
        });
      }
    }
  }

  /**
   * From this host to another.
   *
   * @param control by which the other host is told which of its rails is next; it answers when it is ready for another
   */
  static void toOtherHost(
      Report report,
      ConnectionSettings settings,
      List<DeviceTrial.Rail> rails,
      Offer offer,
      Socket control)
      throws IOException {
    for (DeviceTrial.Rail from : rails) {
      for (int number = 0; number < offer.rails().size(); number++) {
        Offer.OfRail to = offer.rails().get(number);
        control.getOutputStream().write(number);
        tell(report, from.name() + " to the other host's " + to.name(), () -> {
          try (Links reading = new Links(from.address())) {
            return read(
                reading, reading.connectTo(to.rdma(), settings), to.memory(), offer.bytes());
          }
        });
        if (control.getInputStream().read() != ServedRails.ANSWERED) {
          throw new IOException("the other host has ended");
        }
      }
    }
  }

  private interface Pair {
    /** Returns whether a READ brings the right bytes. */
    boolean isRight() throws IOException;
  }

  private static boolean read(Links links, Links.Link link, RemoteMemory remote, TestBytes bytes)
      throws IOException {
    try (Reader reader = Reader.open(link, links.domain())) {
      int length = (int) Math.min(remote.length(), Reader.CHUNK_BYTES);
      return bytes.are(reader.read(remote, 0, length), 0);
    }
  }

  private static void tell(Report report, String pair, Pair tried) {
    try {
      boolean isRight = tried.isRight();
      if (isRight) {
        report.optional(pair, Verdict.PROVEN, "a READ brought the right bytes");
      } else {
        report.needed(pair, Verdict.FAILED, "a READ brought other bytes than the file has");
      }
    } catch (IOException e) {
      report.optional(pair, Verdict.NOT_PROVEN, String.valueOf(e.getMessage()));
    }
  }
}
