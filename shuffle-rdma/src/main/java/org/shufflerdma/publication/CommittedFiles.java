/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.IOException;
import java.util.stream.Stream;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.staging.CommittedOutputs;

/** The map outputs that Spark keeps on the disks of this executor. Any thread may call. */
public record CommittedFiles(DiskBlockManager disks) implements CommittedOutputs {
  /** {@code IndexShuffleBlockResolver.NOOP_REDUCE_ID}: the files have the blocks of all reducers. */
  static final int ALL_REDUCERS = 0;

  /** Where Spark keeps them. */
  public static OutputFolders foldersOf(DiskBlockManager disks) {
    return new OutputFolders(
        Stream.of(disks.localDirs()).map(dir -> dir.toPath().toAbsolutePath()).toList(),
        disks.subDirsPerLocalDir());
  }

  @Override
  public Files open(int shuffleId, long mapId) throws IOException {
    return Files.open(
        disks.getFile(new ShuffleDataBlockId(shuffleId, mapId, ALL_REDUCERS)).toPath(),
        disks.getFile(new ShuffleIndexBlockId(shuffleId, mapId, ALL_REDUCERS)).toPath());
  }
}
