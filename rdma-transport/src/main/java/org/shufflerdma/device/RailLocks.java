/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * How many executors of this user on this host use each rail, told by locks of files in a folder that nobody else can
 * write to. The rail's file has a byte for each executor that uses the rail; the executor keeps its byte locked until it
 * gives the rail back or its process ends, however it ends. fcntl(2) drops all locks of a file when its process closes
 * the file once, so that two executors in one process are not counted right.
 */
final class RailLocks {
  /** The most executors that are counted for a rail. */
  private static final int MOST_EXECUTORS = 64;

  private static final String CHOOSING = "choosing";
  private static final int CHOOSING_MS = 10_000;
  private static final int RETRY_MS = 5;

  private static final Set<PosixFilePermission> OWNERS_ALONE =
      PosixFilePermissions.fromString("rwx------");

  private static final Pattern EFFECTIVE_UID =
      Pattern.compile("^Uid:\\s+\\d+\\s+(\\d+)", Pattern.MULTILINE);

  private final Path folder;

  private RailLocks(Path folder) {
    this.folder = folder;
  }

  /**
   * Uses the folder, and makes it if it is not there.
   *
   * @throws IOException if it cannot be made, or others could write to it
   */
  static RailLocks in(Path folder) throws IOException {
    try {
      Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(OWNERS_ALONE));
    } catch (FileAlreadyExistsException e) {
      requireOwn(folder);
    }
    return new RailLocks(folder);
  }

  /** In a folder that another user can write to, a file may become a link to one of this user's. */
  private static void requireOwn(Path folder) throws IOException {
    PosixFileAttributes attributes =
        Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    boolean isOwn = attributes.isDirectory()
        && Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS).equals((int) ownUid());
    if (!isOwn
        || attributes.permissions().contains(PosixFilePermission.GROUP_WRITE)
        || attributes.permissions().contains(PosixFilePermission.OTHERS_WRITE)) {
      throw new IOException(
          folder + " is not a folder of this user that no other user can write to");
    }
  }

  /** The effective user id of this process, as proc(5) describes /proc/PID/status. */
  static long ownUid() throws IOException {
    Matcher uid = EFFECTIVE_UID.matcher(Files.readString(Path.of("/proc/self/status")));
    if (!uid.find()) {
      throw new IOException("/proc/self/status tells no user id");
    }
    return Long.parseLong(uid.group(1));
  }

  /**
   * Calls {@code choice} with the number of executors that use each of the rails, 64 at most, while no other executor
   * chooses. Waits for at most ten seconds for one that does.
   */
  <T> T choose(List<String> rails, Function<Map<String, Integer>, T> choice) throws IOException {
    try (FileChannel choosing = open(CHOOSING)) {
      lock(choosing);
      Map<String, Integer> executors = new HashMap<>();
      for (String rail : rails) {
        executors.put(rail, executorsOf(rail));
      }
      return choice.apply(executors);
    }
  }

  private void lock(FileChannel choosing) throws IOException {
    Deadline deadline = Deadline.afterMs(CHOOSING_MS);
    while (tryLock(choosing, 0) == null) {
      if (deadline.expired()) {
        throw new IOException(
            "another executor has been choosing for " + CHOOSING_MS + " ms in " + folder);
      }
      try {
        TimeUnit.MILLISECONDS.sleep(RETRY_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while another executor was choosing", e);
      }
    }
  }

  private int executorsOf(String rail) throws IOException {
    int executors = 0;
    try (FileChannel channel = open(rail)) {
      for (int place = 0; place < MOST_EXECUTORS; place++) {
        FileLock lock = tryLock(channel, place);
        if (lock == null) {
          executors++;
        } else {
          lock.release();
        }
      }
    }
    return executors;
  }

  /** Counts this process among the executors that use the rail, until the result is closed. */
  Closeable use(String rail) throws IOException {
    FileChannel channel = open(rail);
    try {
      for (int place = 0; place < MOST_EXECUTORS; place++) {
        if (tryLock(channel, place) != null) {
          return channel;
        }
      }
      throw new IOException(MOST_EXECUTORS + " executors have locked " + folder.resolve(rail));
    } catch (Throwable t) {
      channel.close();
      throw t;
    }
  }

  /** Null if another process, or this one, has it. */
  private static @Nullable FileLock tryLock(FileChannel channel, int place) throws IOException {
    try {
      return channel.tryLock(place, 1, false);
    } catch (OverlappingFileLockException e) {
      return null;
    }
  }

  private FileChannel open(String name) throws IOException {
    return FileChannel.open(
        folder.resolve(name),
        Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }
}
