/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapreduce.MRConfig;

/**
 * The map outputs on this host, which are files of the job's own user: its reducers read them without asking anybody. Used
 * by one thread.
 */
public final class LocalOutputs {
  private final JobConf conf;
  private final LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
  private final String host;

  public LocalOutputs(JobConf conf) {
    this.conf = conf;
    String own = System.getenv("NM_HOST"); // YARN's ApplicationConstants.Environment
    this.host = own == null ? "" : own;
  }

  /** Whether the maps of that host are this host's. */
  public boolean isHere(String other) {
    return !host.isEmpty() && host.equals(other);
  }

  /** Where a partition of a map's output lies. */
  public IndexRecord find(String map, int partition) throws IOException {
    SpillRecord index = new SpillRecord(pathOf(map, "file.out.index"), conf);
    if (partition >= index.size()) {
      throw new IOException(map + " has " + index.size() + " partitions");
    }
    return index.getIndex(partition);
  }

  private Path pathOf(String map, String name) throws IOException {
    return folders.getLocalPathToRead("output/" + map + "/" + name, conf);
  }

  /** Opens the partition. The caller closes the stream. */
  public InputStream open(String map, IndexRecord partition) throws IOException {
    FileChannel file = FileChannel.open(
        Paths.get(pathOf(map, "file.out").toUri().getPath()), StandardOpenOption.READ);
    return new FilterInputStream(
        new SlabInputStream(file, partition.startOffset, partition.partLength)) {
      @Override
      public void close() throws IOException {
        file.close();
      }
    };
  }
}
