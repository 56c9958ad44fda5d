/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The grants on disk, so that a service that starts again serves the applications that run. Each is a file of
 * Java properties, to which a row of lines is appended for each executor; a file with many rows of executors that
 * are not served any more is written anew. The folder is the service's own user's alone, because grants have
 * keys. Any thread may call.
 */
final class GrantStore {
  private static final Logger LOG = LoggerFactory.getLogger(GrantStore.class);
  private static final String SUFFIX = ".grant";
  private static final Set<PosixFilePermission> OWNERS_ALONE =
      PosixFilePermissions.fromString("rwx------");

  /** A file of more bytes is none that this service leaves behind, and must not fill its memory. */
  private static final long MAX_FILE_BYTES = 8 << 20;

  private static final int LEAST_ROWS = 32;

  private final Path folder;

  /** In the files of applications that have been written or read. Guarded by this. */
  private final Map<String, Integer> rows = new HashMap<>();

  private GrantStore(Path folder) {
    this.folder = folder;
  }

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

  /** Tells of the grants that there are, one by one. A file that is none is left alone, and logged. */
  void load(Consumer<Grant> known) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
      for (Path file : files) {
        try (InputStream in = Files.newInputStream(file)) {
          if (Files.size(file) > MAX_FILE_BYTES) {
            throw new IOException("it has more than " + MAX_FILE_BYTES + " bytes");
          }
          known.accept(Grant.read(in));
        } catch (IOException | IllegalArgumentException e) {
          LOG.warn("{} is no grant: {}", file, e.getMessage());
        }
      }
    }
  }

  /** Adds the executor that the grant has got, which is the first one in it. */
  synchronized void add(Grant grant) throws IOException {
    Integer written = rows.get(grant.appId());
    if (written == null || written >= Math.max(LEAST_ROWS, 2 * grant.executors().size())) {
      save(grant);
      return;
    }
    ByteArrayOutputStream row = new ByteArrayOutputStream();
    grant.writeNewest(row, written);
    try (FileChannel file =
        FileChannel.open(fileOf(grant), StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
      ByteBuffer bytes = ByteBuffer.wrap(row.toByteArray());
      while (bytes.hasRemaining()) {
        file.write(bytes);
      }
      rows.put(grant.appId(), written + 1);
    } catch (IOException e) {
      rows.remove(grant.appId()); // nobody knows how much was written
      throw e;
    }
  }

  private void save(Grant grant) throws IOException {
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
      rows.put(grant.appId(), grant.executors().size());
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  synchronized void delete(Grant grant) throws IOException {
    rows.remove(grant.appId());
    Files.deleteIfExists(fileOf(grant));
  }

  private Path fileOf(Grant grant) {
    return folder.resolve(grant.appId() + SUFFIX);
  }
}
