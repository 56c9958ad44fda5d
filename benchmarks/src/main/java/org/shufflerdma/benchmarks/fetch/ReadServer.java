/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;

/**
 * The process whose files are READ. It writes and registers them, says as a line of JSON where they
 * are, and ends with its standard input.
 *
 * <p>Arguments: DIRECTORY BYTES
 */
public final class ReadServer {
  private static final long POOL_BYTES = 16 << 20;

  private ReadServer() {}

  public static void main(String[] arguments) throws Exception {
    ReadSource source = ReadSource.ofBytes(Path.of(arguments[0]), Long.parseLong(arguments[1]));
    source.write();
    try (RdmaTransport transport =
            Plugin.open("server", POOL_BYTES, InetAddress.getLoopbackAddress());
        Acquired acquired = new Acquired()) {
      List<long[]> regions = new ArrayList<>();
      for (Path file : source.files()) {
        MappedFile mapped = acquired.keep(MappedFile.open(file));
        MemoryRegion region = acquired.keep(
            transport.protectionDomain().register(mapped, 0, mapped.size(), Access.REMOTE_READ));
        regions.add(new long[] {region.address(), region.rkey()});
      }
      System.out.println(new ObjectMapper()
          .writeValueAsString(Map.of("endpoint", Plugin.endpoint(transport), "regions", regions)));
      while (System.in.read() >= 0) {
        // The end of the input ends the server.
      }
    }
  }
}
