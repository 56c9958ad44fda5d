/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.SimpleDownloadFile;
import org.apache.spark.network.util.TransportConf;

/** Temporary files in a directory, as Spark's iterator gives them out. */
final class TemporaryFiles implements DownloadFileManager {
  private final Path directory;
  private final AtomicInteger created = new AtomicInteger();
  private final AtomicInteger registered = new AtomicInteger();

  TemporaryFiles(Path directory) {
    this.directory = directory;
  }

  int registered() {
    return registered.get();
  }

  @Override
  public DownloadFile createTempFile(TransportConf conf) {
    return new SimpleDownloadFile(
        directory.resolve("temporary" + created.getAndIncrement()).toFile(), conf);
  }

  @Override
  public boolean registerTempFileToClean(DownloadFile file) {
    registered.incrementAndGet();
    return true;
  }
}
