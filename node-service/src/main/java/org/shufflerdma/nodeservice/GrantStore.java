/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The grants as files, by which a service that starts anew knows the applications that run. The folder is
 * the service's alone. Used by one thread at a time.
 */
record GrantStore(Path folder) {
  private static final Logger LOG = LoggerFactory.getLogger(GrantStore.class);
  private static final String SUFFIX = ".grant";
  private static final Set<PosixFilePermission> OWNERS_ALONE =
      PosixFilePermissions.fromString("rwx------");

  static GrantStore open(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      Folders.make(folder, "service.grants");
      Files.setPosixFilePermissions(folder, OWNERS_ALONE);
    }
    if (!Files.getPosixFilePermissions(folder).equals(OWNERS_ALONE)) {
      throw new IOException(folder + " (service.grants) holds keys, and others than its owner may"
          + " enter it: set its mode to 0700, or name another folder");
    }
    try (DirectoryStream<Path> drafts = Files.newDirectoryStream(folder, "*.draft")) {
      for (Path draft : drafts) {
        Files.deleteIfExists(draft); // of a service that was killed
      }
    }
    return new GrantStore(folder);
  }

  /** The grants that there are. A file that is none is left alone, and logged. */
  List<Grant> load() throws IOException {
    List<Grant> grants = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
      for (Path file : files) {
        try (InputStream in = Files.newInputStream(file)) {
          grants.add(Grant.read(in));
        } catch (IOException | IllegalArgumentException e) {
          LOG.warn("{} is no grant: {}", file, e.getMessage());
        }
      }
    }
    return grants;
  }

  void save(Grant grant) throws IOException {
    Path draft = Files.createTempFile(
        folder,
        grant.appId(),
        ".draft",
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try {
      try (OutputStream out = Files.newOutputStream(draft)) {
        grant.write(out);
      }
      Files.move(draft, fileOf(grant), StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  void delete(Grant grant) throws IOException {
    Files.deleteIfExists(fileOf(grant));
  }

  private Path fileOf(Grant grant) {
    return folder.resolve(grant.appId() + SUFFIX);
  }
}
