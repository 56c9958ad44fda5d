/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * Where one executor keeps its map outputs, as Spark's {@code DiskBlockManager} does. Immutable.
 *
 * @param localDirs absolute
 * @param subDirs the number of folders in each of them
 */
public record OutputFolders(List<Path> localDirs, int subDirs) {
  private static final int MAX_LOCAL_DIRS = 256;
  private static final int MAX_SUB_DIRS = 1 << 16;

  public OutputFolders {
    localDirs = List.copyOf(localDirs);
    if (localDirs.isEmpty()
        || localDirs.size() > MAX_LOCAL_DIRS
        || !localDirs.stream().allMatch(Path::isAbsolute)) {
      throw new IllegalArgumentException("local folders " + localDirs);
    }
    if (subDirs < 1 || subDirs > MAX_SUB_DIRS) {
      throw new IllegalArgumentException(subDirs + " subfolders");
    }
  }

  /** Puts these as properties whose names begin with {@code prefix}. */
  public void putTo(Properties properties, String prefix) {
    properties.setProperty(prefix + "subDirs", String.valueOf(subDirs));
    for (int i = 0; i < localDirs.size(); i++) {
      properties.setProperty(prefix + "localDir." + i, localDirs.get(i).toString());
    }
  }

  /** Reads what {@link #putTo} has put; null if there is nothing. Throws IllegalArgumentException if it is not whole. */
  public static @Nullable OutputFolders from(Properties properties, String prefix) {
    String subDirs = properties.getProperty(prefix + "subDirs");
    if (subDirs == null) {
      return null;
    }
    List<Path> localDirs = new ArrayList<>();
    String dir;
    while ((dir = properties.getProperty(prefix + "localDir." + localDirs.size())) != null) {
      localDirs.add(Path.of(dir));
    }
    return new OutputFolders(localDirs, Integer.parseInt(subDirs));
  }

  /** Where a file lies: in a local folder, in a subfolder, by {@code ExecutorDiskUtils.getFilePath}. */
  public record Place(Path localDir, String subDir) {}

  public Place placeOf(String fileName) {
    int hash = fileName.hashCode();
    int positive = hash == Integer.MIN_VALUE ? 0 : Math.abs(hash);
    return new Place(
        localDirs.get(positive % localDirs.size()),
        "%02x".formatted(positive / localDirs.size() % subDirs));
  }
}
