/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.nio.file.Path;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.FileRegionCost;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * A whole file that peers can read, as it is registered; it keeps neither a descriptor of its own nor a
 * mapping that the device does not need. All ends with its one close.
 */
record RegisteredFile(MappedFile file, MemoryRegion region) implements AutoCloseable {
  /**
   * Takes as long as the kernel needs to bring and pin the file's pages, unless the device pages on demand.
   *
   * @param access what peers and the device may do, of {@link Access}
   * @throws NotPublishedException if the file is not that long
   */
  static RegisteredFile open(ProtectionDomain domain, Path path, long lengthBytes, int access)
      throws IOException, NotPublishedException {
    MappedFile file = MappedFile.open(path);
    try {
      if (file.size() != lengthBytes) {
        throw new NotPublishedException(
            UnpublishedReason.FILE_CHANGED,
            path + " has " + file.size() + " bytes, its partitions " + lengthBytes);
      }
      RegisteredFile registered =
          new RegisteredFile(file, domain.register(file, 0, lengthBytes, access));
      registered.keepNoMoreThan(domain.costOfFile(access));
      return registered;
    } catch (Throwable t) {
      file.close();
      throw t;
    }
  }

  private void keepNoMoreThan(FileRegionCost cost) throws IOException {
    try {
      file.closeDescriptor();
      if (cost.mappings() == 0) {
        file.close();
      }
    } catch (Throwable t) {
      region.close();
      throw t;
    }
  }

  /**
   * Deregisters the region and unmaps the file. If the region cannot be deregistered, a file that is
   * mapped stays so, because the device may still serve its addresses.
   */
  @Override
  public void close() throws IOException {
    region.close();
    file.close();
  }
}
