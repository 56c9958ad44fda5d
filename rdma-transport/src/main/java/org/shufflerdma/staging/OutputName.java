/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.util.regex.Pattern;

/**
 * Names a map output within its application: one of Spark's by the numbers of its shuffle and its map, another one by
 * the name of the folder that it has in its job's.
 *
 * @param folder empty for an output of Spark's, whose numbers count
 */
public record OutputName(int shuffleId, long mapId, String folder) {
  /** The attempts of MapReduce's map tasks, and what Tez adds to the names of its own. */
  private static final Pattern FOLDER = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,99}");

  static final int MAX_FOLDER_CHARS = 100;

  public OutputName {
    if (!folder.isEmpty() && !FOLDER.matcher(folder).matches()) {
      throw new IllegalArgumentException(
          "an output with a name that does not match " + FOLDER.pattern());
    }
  }

  public static OutputName numbered(int shuffleId, long mapId) {
    return new OutputName(shuffleId, mapId, "");
  }

  /** Throws IllegalArgumentException unless it is the name of one folder. */
  public static OutputName inFolder(String folder) {
    if (folder.isEmpty()) {
      throw new IllegalArgumentException("an output without a name");
    }
    return new OutputName(0, 0, folder);
  }

  public boolean isNumbered() {
    return folder.isEmpty();
  }

  /** Opens its files. */
  CommittedOutputs.Files open(CommittedOutputs outputs) throws IOException {
    return isNumbered() ? outputs.open(shuffleId, mapId) : outputs.open(folder);
  }

  @Override
  public String toString() {
    return isNumbered() ? "shuffle " + shuffleId + ", map " + mapId : folder;
  }
}
