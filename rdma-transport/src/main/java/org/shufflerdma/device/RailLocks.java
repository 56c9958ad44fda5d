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
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many executors of this host use each rail, told by locks of files in a folder that they share. The rail's file has
 * a byte for each executor that uses the rail; the executor keeps its byte locked until it gives the rail back or its
 * process ends, however it ends. fcntl(2) drops all locks of a file when its process closes the file once, so that two
 * executors in one process are not counted right. Whoever can write to the folder can mislead the others, but only about
 * which rail has fewer executors.
 */
final class RailLocks {
  private static final Logger LOG = LoggerFactory.getLogger(RailLocks.class);

  /** The most executors that are counted for a rail. */
  private static final int MOST_EXECUTORS = 256;

  private static final String CHOOSING = "choosing";
  private static final int OPEN_TO_ALL_BUT_DELETION = 01777;
  private static final int CHOOSING_MS = 2_000;
  private static final int RETRY_MS = 5;

  private final Path folder;

  private RailLocks(Path folder) {
    this.folder = folder;
  }

  /** Uses the folder, and makes it if it is not there. */
  static RailLocks in(Path folder) throws IOException {
    if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      try {
        Files.createDirectory(folder);
        Files.setAttribute(folder, "unix:mode", OPEN_TO_ALL_BUT_DELETION);
      } catch (FileAlreadyExistsException e) {
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
          throw new NotDirectoryException(folder.toString());
        }
      }
    }
    return new RailLocks(folder);
  }

  /**
   * Calls {@code choice} with the number of executors that use each of the rails, 256 at most, while no other executor of
   * this host chooses. Waits for at most two seconds for one that does.
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
            "another executor has chosen for " + CHOOSING_MS + " ms in " + folder);
      }
      try {
        TimeUnit.MILLISECONDS.sleep(RETRY_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while another executor chose", e);
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

  /**
   * In a folder where all may write, the kernel refuses to open another user's file with O_CREAT (fs.protected_regular),
   * others may lock only what they may write, and to open a FIFO would wait for another process unless both directions
   * are opened.
   */
  private FileChannel open(String name) throws IOException {
    Path file = folder.resolve(name);
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      try {
        Files.createFile(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
      } catch (FileAlreadyExistsException e) {
        LOG.debug("Another executor has made {} at the same time", file);
      }
    }
    return FileChannel.open(
        file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
  }
}
