/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.File;
import java.nio.file.Path;

/** Tells whether a disk needs the space that deleted files still hold. */
final class DiskSpace {
  private static final int LEAST_SHARE = 20;

  private DiskSpace() {}

  /** Less than a twentieth is left on the disk of this directory; false if it does not exist. */
  static boolean isLow(Path directory) {
    File asked = directory.toFile();
    return asked.getUsableSpace() < asked.getTotalSpace() / LEAST_SHARE;
  }
}
