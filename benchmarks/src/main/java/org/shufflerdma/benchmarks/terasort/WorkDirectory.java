/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The directory a sort keeps its data in. It deletes only what sorts have made there, so that a
 * mistyped --dir costs nobody their files: for each name that a sort has taken, {@link #MADE} has a
 * folder.
 */
final class WorkDirectory {
  private static final String MADE = ".terasort";

  private final FileSystem fileSystem;
  private final Path root;

  private WorkDirectory(FileSystem fileSystem, Path root) {
    this.fileSystem = fileSystem;
    this.root = root;
  }

  static WorkDirectory open(String directory, Configuration hadoop) throws IOException {
    Path path = new Path(directory);
    FileSystem fileSystem = path.getFileSystem(hadoop);
    Path root = fileSystem.makeQualified(path);
    fileSystem.mkdirs(root);
    return new WorkDirectory(fileSystem, root);
  }

  Path path(String name) {
    return new Path(root, name);
  }

  /**
   * Returns whether the directory holds a finished job's output of so many bytes in so many part
   * files.
   */
  boolean holds(String name, long bytes, int files) throws IOException {
    Path path = path(name);
    if (!fileSystem.exists(new Path(path, "_SUCCESS"))) {
      return false;
    }
    FileStatus[] parts = fileSystem.listStatus(path, WorkDirectory::isPart);
    return parts.length == files && bytes(name) == bytes;
  }

  long bytes(String name) throws IOException {
    long sum = 0;
    for (FileStatus part : fileSystem.listStatus(path(name), WorkDirectory::isPart)) {
      sum = Math.addExact(sum, part.getLen());
    }
    return sum;
  }

  /**
   * Deletes what an earlier sort has left under that name, and takes the name for what is made next.
   *
   * @throws IOException if the data there are not those of a sort
   */
  void clear(String name) throws IOException {
    Path path = path(name);
    Path made = new Path(path(MADE), name);
    if (!fileSystem.exists(path)) {
      fileSystem.mkdirs(made);
      return;
    }
    if (!fileSystem.exists(made)) {
      throw new IOException(path + " was not made by a sort: move it, or give another --dir");
    }
    for (FileStatus child : fileSystem.listStatus(path)) {
      String childName = child.getPath().getName();
      if (!isPart(child.getPath()) && !childName.startsWith("_") && !childName.startsWith(".")) {
        throw new IOException(
            path + " holds " + childName + ", which no sort wrote: move it, or give another --dir");
      }
    }
    fileSystem.delete(path, true);
  }

  String readFirstPart(String name) throws IOException {
    Path part = new Path(path(name), "part-r-00000");
    try (var in = fileSystem.open(part)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static boolean isPart(Path path) {
    return path.getName().startsWith("part-");
  }
}
