/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.verbs.OwnedFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folders in which NodeManagers keep the files of jobs, {@code usercache/USER/appcache/APPLICATION} of each local directory
 * ({@code yarn.nodemanager.local-dirs}). A task of the job leaves its grant there, beside the map outputs: whoever can read these
 * can read it, and it goes with them. NodeManagers alone make the folders of users; whose they are, the files must be.
 * Any thread may call; it touches file systems.
 */
final class JobFolders {
  private static final Logger LOG = LoggerFactory.getLogger(JobFolders.class);

  static final String GRANT_FILE = "shuffle-rdma.grant";

  private static final String OUTPUT = "output";
  private static final int MAX_GRANT_BYTES = 256;
  private static final Pattern GRANT =
      Pattern.compile("shuffle-rdma grant 1 (?<key>[0-9a-f]{64})\n");

  private final List<Path> localDirs;

  /** @param localDirs empty if there are no jobs */
  JobFolders(List<Path> localDirs) {
    this.localDirs = localDirs;
  }

  boolean isEmpty() {
    return localDirs.isEmpty();
  }

  /** Throws if no task of the job has left a grant, or none that is the user's. A directory that fails hides none in another. */
  Grant find(JobName job) throws IOException {
    IOException why = new IOException("no task of " + job + " has left a grant on this host");
    for (Path localDir : localDirs) {
      Path folder = folderOf(localDir, job);
      try {
        int uid = uidOf(folder);
        try (FileChannel file = open(folder, "", GRANT_FILE, uid)) {
          return new Grant(
              job.toString(),
              uid,
              keyIn(file),
              new byte[0],
              List.of(new OutputFolders(
                  localDirs.stream().map(dir -> folderOf(dir, job)).toList(), 1)));
        }
      } catch (NoSuchFileException e) {
        LOG.trace("There is no grant in {}", folder);
      } catch (IOException e) {
        why = e;
      }
    }
    throw why;
  }

  private static Path folderOf(Path localDir, JobName job) {
    return localDir
        .resolve("usercache")
        .resolve(job.user())
        .resolve("appcache")
        .resolve(job.application());
  }

  /** The folder of the user, below which everything may be changed by the user. */
  private static Path userFolder(Path jobFolder) {
    Path folder = jobFolder.getParent();
    Path user = folder == null ? null : folder.getParent();
    if (user == null) {
      throw new IllegalArgumentException(jobFolder + " is no folder of a job");
    }
    return user;
  }

  private static int uidOf(Path jobFolder) throws IOException {
    return (Integer)
        Files.getAttribute(userFolder(jobFolder), "unix:uid", LinkOption.NOFOLLOW_LINKS);
  }

  /**
   * Opens a file of the job's outputs.
   *
   * @param output the folder of a map output; empty for what lies beside them
   */
  static FileChannel open(Path jobFolder, String output, String name, int uid) throws IOException {
    Path user = userFolder(jobFolder);
    return OwnedFile.open(
        user, user.relativize(jobFolder).resolve(OUTPUT).resolve(output).toString(), name, uid);
  }

  private static byte[] keyIn(FileChannel file) throws IOException {
    ByteBuffer text = ByteBuffer.allocate(MAX_GRANT_BYTES);
    while (text.hasRemaining() && file.read(text) > 0) {}
    Matcher matcher = GRANT.matcher(StandardCharsets.US_ASCII.decode(text.flip()));
    if (!matcher.matches()) {
      throw new IOException(GRANT_FILE + " is no grant of this version");
    }
    return HexFormat.of().parseHex(matcher.group("key"));
  }
}
