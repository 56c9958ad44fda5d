/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Opens the files of map outputs that have been committed. Any thread may call. */
public interface CommittedOutputs {
  /** What an index says of each partition. All numbers have eight bytes, big-endian. */
  enum Layout {
    /** Its offset in the data, and at last the end of the last one, as Spark writes it. */
    OFFSETS,
    /** Its offset, its length without compression and its length in the data, and at last a CRC32 of all, as Hadoop writes it. */
    SPILL_RECORD
  }

  /** The files of one map output, open for reading. Whoever has opened them closes them. */
  record Files(FileChannel data, FileChannel index, Layout layout) implements AutoCloseable {
    /** Opens an output of Spark's. */
    public static Files open(Path data, Path index) throws IOException {
      FileChannel openIndex = FileChannel.open(index, StandardOpenOption.READ);
      try {
        return new Files(
            FileChannel.open(data, StandardOpenOption.READ), openIndex, Layout.OFFSETS);
      } catch (Throwable t) {
        openIndex.close();
        throw t;
      }
    }

    @Override
    public void close() throws IOException {
      try (data) {
        index.close();
      }
    }
  }

  /** Throws if there is no such map output, or it cannot be read. */
  Files open(int shuffleId, long mapId) throws IOException;

  /** The same for an output that is named by its folder. */
  default Files open(String folder) throws IOException {
    throw new NoSuchFileException(folder);
  }

  /**
   * Returns where the map output can be read without being staged; null if it is not registered, or not yet. Called when it has been
   * opened, each time that it is staged; it does not wait.
   */
  default @Nullable RegisteredOutput registered(int shuffleId, long mapId) {
    return null;
  }
}
