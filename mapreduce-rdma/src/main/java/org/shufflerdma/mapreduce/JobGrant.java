/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.jspecify.annotations.Nullable;

/**
 * What lets node services serve a job: a key that is derived from the job's secret for HTTP shuffles, in a file beside the map
 * outputs. Whoever can read these can read it, and the NodeManager deletes it with them. Immutable.
 */
public final class JobGrant {
  private static final String FILE = "shuffle-rdma.grant";
  private static final String PURPOSE = "shuffle-rdma mapreduce v1";
  private static final Set<PosixFilePermission> GROUP_MAY_READ =
      PosixFilePermissions.fromString("rw-r-----");

  private final Path jobFolder;
  private final String user;
  private final String application;
  private final byte[] key;

  private JobGrant(Path jobFolder, String user, String application, byte[] key) {
    this.jobFolder = jobFolder;
    this.user = user;
    this.application = application;
    this.key = key;
  }

  /**
   * The grant of the job whose task this process runs; null if it is no container of YARN.
   *
   * @param secret that the job's tasks share
   */
  public static @Nullable JobGrant of(JobConf conf, SecretKey secret) {
    String[] localDirs = conf.getTrimmedStrings(MRConfig.LOCAL_DIR);
    if (localDirs.length == 0) {
      return null;
    }
    // usercache/USER/appcache/APPLICATION in the first local directory of the NodeManager
    Path folder = Paths.get(localDirs[0]).toAbsolutePath().normalize();
    int names = folder.getNameCount();
    if (names < 4
        || !"appcache".equals(folder.getName(names - 2).toString())
        || !"usercache".equals(folder.getName(names - 4).toString())) {
      return null;
    }
    String application = folder.getName(names - 1).toString();
    return new JobGrant(
        folder,
        folder.getName(names - 3).toString(),
        application,
        new Hmac(secret.getEncoded()).of(PURPOSE, application));
  }

  /** Names the job to node services. */
  String job() {
    return user + "/" + application;
  }

  /** That of one purpose. */
  byte[] keyFor(String purpose) {
    return new Hmac(key).of(purpose, job());
  }

  /** Leaves the grant for the node service of this host, unless a task of the job has. */
  public void leave() throws IOException {
    Path folder = jobFolder.resolve("output");
    Path file = folder.resolve(FILE);
    if (Files.exists(file)) {
      return;
    }
    Files.createDirectories(folder);
    Path draft = Files.createTempFile(
        folder, FILE, null, PosixFilePermissions.asFileAttribute(GROUP_MAY_READ));
    try {
      Files.setPosixFilePermissions(draft, GROUP_MAY_READ); // whatever the umask
      Files.write(
          draft, ("shuffle-rdma grant 1 " + hex(key) + "\n").getBytes(StandardCharsets.US_ASCII));
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder(2 * bytes.length);
    for (byte one : bytes) {
      text.append(Character.forDigit((one >> 4) & 0xf, 16))
          .append(Character.forDigit(one & 0xf, 16));
    }
    return text.toString();
  }
}
