/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.metrics.LogThrottle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of the memory that reducers map. Nobody else may list it, and the names of its files cannot be guessed, so that a
 * reducer finds what the service names to it and nothing else. It belongs to one service, which holds a lock on it. Any thread may
 * call; its owner closes it after all memory.
 */
final class SharedFolder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedFolder.class);
  private static final Set<PosixFilePermission> NOT_LISTED =
      PosixFilePermissions.fromString("rwx--x--x");

  /** Of the file with the lock: who can open it for reading can hold a lock that excludes this one. */
  private static final Set<PosixFilePermission> OWN = PosixFilePermissions.fromString("rw-------");

  private static final Path OWN_PROCESS =
      Path.of("/proc/" + ProcessHandle.current().pid());
  private static final String SUFFIX = ".slab";
  private static final int NAME_BYTES = 16;

  private final Path folder;
  private final SecureRandom random = new SecureRandom();
  private final Acquired acquired = new Acquired();
  private final LogThrottle troubles = new LogThrottle();
  private @Nullable Acquired taken; // guarded by this
  private volatile boolean usable;

  SharedFolder(Path folder) {
    this.folder = folder;
  }

  /**
   * Makes the folder, or takes it over from a service that has ended, unless that has been done. Whoever may write beside it can have made
   * one of its name before, or delete it, so that it is looked for each time that there is to be more memory.
   *
   * @return whether it can be used; if not, the log says why once in a minute
   */
  synchronized boolean tryTake() {
    usable = takeUnlessTaken();
    return usable;
  }

  private boolean takeUnlessTaken() {
    Acquired before = taken;
    Acquired taking = new Acquired();
    try {
      if (before != null && isOwn()) {
        return true;
      }
      if (before != null) {
        acquired.giveBack(before);
        taken = null;
      }
      take(taking);
      taken = acquired.keep(taking);
      return true;
    } catch (IOException | RuntimeException e) {
      taking.close();
      if (troubles.tryLog() >= 0) {
        LOG.error("Reducers are not served until this is mended: {}", whatIsWrong(e));
      }
      return false;
    }
  }

  /** Whether it could be used when it was last looked for. */
  boolean isUsable() {
    return usable;
  }

  /** Looks for it once more if it could not be used. */
  void tryAgain() {
    if (!usable) {
      tryTake();
    }
  }

  /** A failure of the file system names no more than a file. */
  private String whatIsWrong(Exception e) {
    return e instanceof FileSystemException || e instanceof RuntimeException
        ? folder
            + " (service.sharedMemory) cannot be used by this user, mend that or name another folder: "
            + e
        : String.valueOf(e.getMessage());
  }

  private void take(Acquired taking) throws IOException {
    if (!Files.exists(folder)) {
      Folders.make(folder, "service.sharedMemory");
      Files.setPosixFilePermissions(folder, NOT_LISTED);
    }
    if (!isOwn()) {
      throw new IOException(folder
          + " (service.sharedMemory) must be a folder of this user, with mode 0711, so that nobody else lists or changes"
          + " it: remove it, or name another folder");
    }
    FileChannel file = taking.keep(FileChannel.open(
        folder.resolve("lock"),
        Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
        PosixFilePermissions.asFileAttribute(OWN)));
    FileLock held = file.tryLock();
    if (held == null) {
      throw new IOException(
          folder + " (service.sharedMemory) is another service's: name another folder");
    }
    try (DirectoryStream<Path> stale = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
      for (Path slab : stale) {
        Files.deleteIfExists(slab);
      }
    }
  }

  /** Whether the folder is there, and can only have been made by this user. */
  private boolean isOwn() throws IOException {
    return Files.exists(folder, LinkOption.NOFOLLOW_LINKS)
        && Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS).equals(NOT_LISTED)
        && uidOf(folder) == uidOf(OWN_PROCESS);
  }

  /** Also of a symbolic link, which is not followed, and of a user without a name. */
  private static int uidOf(Path file) throws IOException {
    return (Integer) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS);
  }

  /** What its file system has left; 0 if that does not say, or the folder cannot be used. */
  long usableBytes() {
    if (!tryTake()) {
      return 0;
    }
    try {
      return Files.getFileStore(folder).getUsableSpace();
    } catch (IOException e) {
      LOG.debug("The file system of {} does not say what room it has", folder, e);
      return 0;
    }
  }

  /** A name for a file that is not there yet. */
  Path newFile() {
    byte[] name = new byte[NAME_BYTES];
    random.nextBytes(name);
    return folder.resolve(HexFormat.of().formatHex(name) + SUFFIX);
  }

  @Override
  public void close() {
    acquired.close();
  }
}
