/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.Set;
import java.util.function.Supplier;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.staging.CommittedOutputs;

/**
 * The map outputs of one application. Only regular files of the application's user are opened, by names that
 * are made here, and no symbolic link is followed below a granted folder. Any thread may call.
 *
 * @param grant as it is now
 */
record GrantedOutputs(Supplier<Grant> grant) implements CommittedOutputs {
  @Override
  public Files open(int shuffleId, long mapId) throws IOException {
    String output = "shuffle_" + shuffleId + "_" + mapId + "_0";
    Grant now = grant.get();
    for (OutputFolders executor : now.executors()) {
      FileChannel index;
      try {
        index = open(executor, output + ".index", now.owner());
      } catch (NoSuchFileException e) {
        continue; // another executor has it
      }
      try {
        return new Files(open(executor, output + ".data", now.owner()), index);
      } catch (Throwable t) {
        index.close();
        throw t;
      }
    }
    throw new NoSuchFileException(output);
  }

  private static FileChannel open(OutputFolders executor, String name, String owner)
      throws IOException {
    OutputFolders.Place place = executor.placeOf(name);
    try (DirectoryStream<Path> root = java.nio.file.Files.newDirectoryStream(place.localDir());
        SecureDirectoryStream<Path> folder =
            secure(root).newDirectoryStream(Path.of(place.subDir()), LinkOption.NOFOLLOW_LINKS)) {
      Path file = Path.of(name);
      PosixFileAttributeView view = folder.getFileAttributeView(
          file, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
      PosixFileAttributes attributes = view.readAttributes();
      if (!attributes.isRegularFile() || !attributes.owner().getName().equals(owner)) {
        throw new IOException(name + " is no file of " + owner);
      }
      SeekableByteChannel channel =
          folder.newByteChannel(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
      return (FileChannel) channel;
    }
  }

  private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> folder)
      throws IOException {
    if (folder instanceof SecureDirectoryStream<Path> secure) {
      return secure;
    }
    throw new IOException("this system cannot open files relative to a folder");
  }
}
