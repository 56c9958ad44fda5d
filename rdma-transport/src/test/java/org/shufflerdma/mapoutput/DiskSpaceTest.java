/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskSpaceTest {
  private static final int DISK_BYTES = 1 << 20;

  @TempDir
  Path directory;

  private static boolean run(String... command) throws Exception {
    return new ProcessBuilder(command).start().waitFor() == 0;
  }

  @Test
  void aDiskIsLowWhenATwentiethIsLeft() throws Exception {
    String disk = Files.createDirectory(directory.resolve("disk")).toString();
    assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=" + DISK_BYTES, "none", disk),
        "only root may mount a disk");
    try {
      Path mounted = Path.of(disk);
      assertThat(DiskSpace.isLow(mounted)).isFalse();
      Files.write(mounted.resolve("file"), new byte[DISK_BYTES / 100 * 97]);
      assertThat(DiskSpace.isLow(mounted)).isTrue();
    } finally {
      run("umount", disk);
    }
  }

  @Test
  void aDirectoryThatIsGoneIsOfNoDisk() {
    assertThat(DiskSpace.isLow(directory.resolve("gone"))).isFalse();
  }
}
