/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Opens files in folders that somebody else may change at any time. The verbs must be open. */
public final class OwnedFile {
  private OwnedFile() {}

  /**
   * Opens {@code folder/subfolder/name} for reading: no symbolic link is followed at the folder or below it, and
   * what is open is a regular file of this user that has no other name. The caller closes it.
   *
   * @param subfolder may be a path of several folders, without ".."
   * @throws NoSuchFileException if there is no such file
   */
  public static FileChannel open(Path folder, String subfolder, String name, int uid)
      throws IOException {
    int descriptor;
    try {
      descriptor = Natives.openOwnedFile(
          FileNames.bytesOf(folder.toString()),
          FileNames.bytesOf(subfolder),
          FileNames.bytesOf(name),
          uid);
    } catch (VerbsException e) {
      if (e.errno() == Errno.ENOENT) {
        throw new NoSuchFileException(name);
      }
      throw new IOException(name + " cannot be opened as a file of user " + uid, e);
    }
    try { // proc(5): a link to the very file that has been checked, whatever its name means by now
      return FileChannel.open(Path.of("/proc/self/fd/" + descriptor), StandardOpenOption.READ);
    } finally {
      Natives.closeFile(descriptor);
    }
  }
}
