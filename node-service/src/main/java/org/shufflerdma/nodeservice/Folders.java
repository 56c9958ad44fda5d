/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes the folders that settings name. */
final class Folders {
  private Folders() {}

  /**
   * Makes the folder and those above it, if they are not there.
   *
   * @param key of the setting that leads to it
   */
  static void make(Path folder, String key) throws IOException {
    try {
      Files.createDirectories(folder);
    } catch (IOException e) {
      throw new IOException(
          "folder " + folder + " (" + key + ") cannot be made: " + e
              + ". Make it for the user of this service, or set " + key + " to another",
          e);
    }
  }
}
