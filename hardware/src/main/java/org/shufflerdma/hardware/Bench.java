/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/** The device, file and report that each measurement uses. One thread uses it. */
record Bench(Report report, Links links, ConnectionSettings settings, TestFile file) {
  static final long MEBIBYTE = 1 << 20;
  static final double GIB = 1 << 30;

  ProtectionDomain domain() {
    return links.domain();
  }

  /** Opens a reader on a connection of its own, since a READ that fails breaks its connection. */
  Reader openReader() throws IOException {
    return Reader.open(links.connect(settings).link(), domain());
  }

  /** Registers the whole file as the plugin registers map outputs. */
  MemoryRegion register(MappedFile mapped) throws IOException {
    return domain().register(mapped, 0, file.size(), Access.REMOTE_READ);
  }

  static String mebibytes(long bytes) {
    return bytes % MEBIBYTE == 0
        ? Long.toString(bytes / MEBIBYTE)
        : Samples.number((double) bytes / MEBIBYTE);
  }
}
