/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.util.function.Supplier;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.verbs.OwnedFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs of one application, whose user may change the granted folders at any time: only what
 * {@link OwnedFile} opens is read, by names that are made here. Any thread may call.
 *
 * @param grant as it is now
 */
record GrantedOutputs(Supplier<Grant> grant) implements CommittedOutputs {
  private static final Logger LOG = LoggerFactory.getLogger(GrantedOutputs.class);

  @Override
  public Files open(int shuffleId, long mapId) throws IOException {
    String output = "shuffle_" + shuffleId + "_" + mapId + "_0";
    Grant now = grant.get();
    IOException why = null;
    for (OutputFolders executor : now.executors()) {
      try {
        return open(executor, output, now.uid());
      } catch (NoSuchFileException e) {
        LOG.trace("{} is not in {}", output, executor);
      } catch (IOException e) { // another executor may have it nevertheless
        why = e;
      }
    }
    throw why == null ? new NoSuchFileException(output) : why;
  }

  private static Files open(OutputFolders executor, String output, int uid) throws IOException {
    FileChannel index = openFile(executor, output + ".index", uid);
    try {
      return new Files(openFile(executor, output + ".data", uid), index);
    } catch (Throwable t) {
      index.close();
      throw t;
    }
  }

  private static FileChannel openFile(OutputFolders executor, String name, int uid)
      throws IOException {
    OutputFolders.Place place = executor.placeOf(name);
    return OwnedFile.open(place.localDir(), place.subDir(), name, uid);
  }
}
