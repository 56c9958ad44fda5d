/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;

/**
 * What the service knows of one application: its key, the user whose files it may read, and where its
 * executors keep map outputs. Immutable.
 *
 * @param uid of the user
 * @param deviceSecret empty on hardware
 * @param executors the one that registered last comes first
 */
@SuppressWarnings("ArrayRecordComponent")
record Grant(
    String appId, int uid, byte[] key, byte[] deviceSecret, List<OutputFolders> executors) {
  private static final int EXECUTOR_BYTES = 256;
  private static final int PATH_BYTES = 128;

  Grant {
    executors = List.copyOf(executors);
  }

  static Grant of(Registration first, int uid) {
    return new Grant(
        first.appId(), uid, first.key(), first.deviceSecret(), List.of(first.folders()));
  }

  /** Whether it lies in the folders of a job ({@link JobName}), and goes with them. */
  boolean isOfJob() {
    return JobName.parse(appId) != null;
  }

  /** The same with the folders of another executor. */
  Grant with(OutputFolders more) {
    List<OutputFolders> all = new ArrayList<>(executors);
    all.remove(more);
    all.add(0, more);
    return with(all);
  }

  /** The same without these executors. */
  Grant without(List<OutputFolders> gone) {
    return with(executors.stream().filter(folders -> !gone.contains(folders)).toList());
  }

  /** The same with so many of its executors at most, the newest, of which so many bytes are kept. */
  Grant newest(int most, long mostBytes) {
    List<OutputFolders> kept = new ArrayList<>();
    long bytes = 0;
    for (OutputFolders folders : executors) {
      bytes += bytesOf(folders);
      if (kept.size() == most || bytes > mostBytes) {
        break;
      }
      kept.add(folders);
    }
    return kept.size() == executors.size() ? this : with(kept);
  }

  private Grant with(List<OutputFolders> others) {
    return new Grant(appId, uid, key, deviceSecret, others);
  }

  /** What is kept of the executors, about. */
  long bytes() {
    return executors.stream().mapToLong(Grant::bytesOf).sum();
  }

  private static long bytesOf(OutputFolders folders) {
    long bytes = EXECUTOR_BYTES;
    for (Path dir : folders.localDirs()) {
      bytes += PATH_BYTES + 2L * dir.toString().length();
    }
    return bytes;
  }

  /** The executors whose folders are gone. Touches the file systems that these are on. */
  List<OutputFolders> removed() {
    return executors.stream().filter(folders -> areGone(folders.localDirs())).toList();
  }

  /**
   * A folder that cannot be looked at, such as one on a disk that has failed, may come back. If the other folders of a job are gone, it
   * counts as gone, too, because the service finds the job's grant again when the folder comes back.
   */
  private boolean areGone(List<Path> dirs) {
    boolean isOneGone = false;
    for (Path dir : dirs) {
      try {
        Files.readAttributes(dir, BasicFileAttributes.class);
        return false;
      } catch (NoSuchFileException e) {
        isOneGone = true;
      } catch (IOException e) {
        if (!isOfJob()) {
          return false;
        }
      }
    }
    return isOneGone;
  }

  /** Who the service is for this application. */
  LocalIdentity identity() {
    return new LocalIdentity(appId, PeerId.NODE_SERVICE, key);
  }

  /** Writes all executors, the oldest first. */
  void write(OutputStream out) throws IOException {
    Properties properties = new Properties();
    properties.setProperty("uid", String.valueOf(uid));
    new Registration(appId, key, deviceSecret, executors.get(0)).putNamesTo(properties);
    for (int i = 0; i < executors.size(); i++) {
      executors.get(executors.size() - 1 - i).putTo(properties, prefixOf(i));
    }
    properties.store(out, null);
  }

  /**
   * Writes the newest executor alone, to be appended.
   *
   * @param row after so many others
   */
  void writeNewest(OutputStream out, int row) throws IOException {
    Properties properties = new Properties();
    executors.get(0).putTo(properties, prefixOf(row));
    out.write('\n'); // behind what a service that was killed has written in part
    properties.store(out, null);
  }

  /** Reads what the two have written. Throws IllegalArgumentException if the stream is no grant. */
  static Grant read(InputStream in) throws IOException {
    Properties properties = new Properties();
    properties.load(in);
    Registration first = Registration.from(properties, OutputFolders.from(properties, prefixOf(0)));
    List<OutputFolders> executors = new ArrayList<>();
    OutputFolders folders;
    while ((folders = rowOf(properties, executors.size())) != null) {
      executors.add(folders);
    }
    Collections.reverse(executors);
    return new Grant(
        first.appId(),
        Integer.parseInt(properties.getProperty("uid", "none")),
        first.key(),
        first.deviceSecret(),
        executors);
  }

  /** Null behind the last row, and for one of which only the beginning has been written. */
  private static @Nullable OutputFolders rowOf(Properties properties, int executor) {
    try {
      return OutputFolders.from(properties, prefixOf(executor));
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private static String prefixOf(int executor) {
    return "executor." + executor + ".";
  }

  /** Names the application and its user alone. */
  @Override
  public String toString() {
    return appId + " of user " + uid + " with " + executors.size() + " executors";
  }
}
