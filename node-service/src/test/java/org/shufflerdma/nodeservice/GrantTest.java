/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.node.OutputFolders;

class GrantTest {
  @TempDir
  private Path directory;

  /** As on a disk that has failed. */
  @Test
  void aFolderThatCannotBeLookedAtKeepsAnApplicationButNoJob() throws Exception {
    Path unknown = directory.resolve("loop");
    Files.createSymbolicLink(unknown, unknown);
    Path gone = directory.resolve("gone");
    Path there = Files.createDirectory(directory.resolve("there"));
    for (String id : List.of("app-1", "alice/application_1700000000000_0001")) {
      boolean isOfJob = id.contains("/");
      assertThat(removed(id, gone)).hasSize(1);
      assertThat(removed(id, unknown)).isEmpty();
      assertThat(removed(id, unknown, there)).isEmpty();
      assertThat(removed(id, gone, there)).isEmpty();
      assertThat(removed(id, unknown, gone)).hasSize(isOfJob ? 1 : 0);
    }
  }

  private static List<OutputFolders> removed(String id, Path... dirs) {
    OutputFolders folders = new OutputFolders(List.of(dirs), 64);
    return new Grant(id, 0, new byte[32], new byte[0], List.of(folders)).removed();
  }
}
