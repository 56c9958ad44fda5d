/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The regions of this process as the software device shows them to its peers, in a table that they map;
 * native-verbs/softdev/memory/peer_table.h draws it.
 */
public final class ShownRegions {
  /** One that is registered now. */
  public record Region(int access, long lengthBytes, boolean ofFile) {}

  private static final int MAGIC = 0x31545653;
  private static final int VERSION = 4;
  private static final int HEADER_BYTES = 4096;
  private static final int ENTRY_BYTES = 64;
  private static final int ENTRIES = 65536;
  private static final int LENGTH_AT = 16;
  private static final int ACCESS_AT = 48;
  private static final int HAS_FILE_AT = 52;

  private ShownRegions() {}

  public static List<Region> read() throws IOException {
    try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors) {
        if (Files.isSymbolicLink(descriptor)
            && Files.readSymbolicLink(descriptor).toString().startsWith("/memfd:softverbs ")) {
          return read(descriptor);
        }
      }
    }
    throw new IOException("this process has no table of regions");
  }

  private static List<Region> read(Path descriptor) throws IOException {
    ByteBuffer table =
        ByteBuffer.allocate(HEADER_BYTES + ENTRIES * ENTRY_BYTES).order(ByteOrder.nativeOrder());
    try (FileChannel channel = FileChannel.open(descriptor)) {
      while (table.hasRemaining() && channel.read(table, table.position()) > 0) {}
    }
    if (table.getInt(0) != MAGIC || table.getInt(4) != VERSION) {
      throw new IOException("the table of regions is another than this test knows");
    }
    List<Region> regions = new ArrayList<>();
    for (int at = HEADER_BYTES; at < table.capacity(); at += ENTRY_BYTES) {
      long generation = table.getLong(at);
      if (generation % 2 != 0) {
        regions.add(new Region(
            table.getInt(at + ACCESS_AT),
            table.getLong(at + LENGTH_AT),
            table.getInt(at + HAS_FILE_AT) != 0));
      }
    }
    return regions;
  }
}
