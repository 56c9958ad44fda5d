/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Opens the files of map outputs that have been committed. Any thread may call. */
public interface CommittedOutputs {
  /**
   * The files of one map output, open for reading. Whoever has opened them closes them.
   *
   * @param index the offsets of the partitions in {@code data}, each in eight bytes, big-endian, and at last
   *     the end of the last one
   */
  record Files(FileChannel data, FileChannel index) implements AutoCloseable {
    public static Files open(Path data, Path index) throws IOException {
      FileChannel openIndex = FileChannel.open(index, StandardOpenOption.READ);
      try {
        return new Files(FileChannel.open(data, StandardOpenOption.READ), openIndex);
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

  /**
   * Returns where the map output can be read without being staged; null if it is not registered, or not yet. Called when it has been
   * opened, each time that it is staged; it does not wait.
   */
  default @Nullable RegisteredOutput registered(int shuffleId, long mapId) {
    return null;
  }
}
