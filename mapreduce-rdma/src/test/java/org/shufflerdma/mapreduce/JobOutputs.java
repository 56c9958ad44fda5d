/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Random;
import java.util.zip.CRC32;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;

/** The folders of a job, as NodeManagers and map tasks make them. */
final class JobOutputs {
  private final Path localDir;
  private final String user;
  private final String application;
  private final byte[] secret;

  JobOutputs(Path localDir, String user, String application, String secret) throws IOException {
    this.localDir = localDir;
    this.user = user;
    this.application = application;
    this.secret = secret.getBytes(StandardCharsets.UTF_8);
    Files.createDirectories(folder());
  }

  /** The folder of the user, which NodeManagers make. */
  Path userFolder() {
    return localDir.resolve("usercache").resolve(user);
  }

  Path folder() {
    return userFolder().resolve("appcache").resolve(application);
  }

  Path output(String map) {
    return folder().resolve("output").resolve(map);
  }

  JobGrant grant() {
    JobConf conf = new JobConf(false);
    conf.set(MRConfig.LOCAL_DIR, folder().toString());
    return Objects.requireNonNull(JobGrant.of(conf, new SecretKeySpec(secret, "HmacSHA1")));
  }

  /** Makes an output whose partitions have these lengths, and returns the bytes of all. */
  byte[] write(String map, int... lengths) throws IOException {
    Path output = Files.createDirectories(output(map));
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    ByteBuffer index = ByteBuffer.allocate(lengths.length * 24 + 8);
    Random random = new Random(map.hashCode());
    for (int length : lengths) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      index.putLong(data.size()).putLong(2L * length).putLong(length);
      data.write(bytes);
    }
    CRC32 crc = new CRC32();
    crc.update(index.array(), 0, lengths.length * 24);
    index.putLong(crc.getValue());
    Files.write(output.resolve("file.out"), data.toByteArray());
    Files.write(output.resolve("file.out.index"), index.array());
    return data.toByteArray();
  }
}
