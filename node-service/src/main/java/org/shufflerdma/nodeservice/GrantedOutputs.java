/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.verbs.OwnedFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs of one application, whose user may change the granted folders at any time: only what
 * {@link OwnedFile} opens is read, by names that are made here. It remembers who has an output, so that
 * it looks through the executors only once for each. Any thread may call.
 */
final class GrantedOutputs implements CommittedOutputs {
  private static final Logger LOG = LoggerFactory.getLogger(GrantedOutputs.class);
  private static final int MAX_REMEMBERED = 1 << 16;

  private record Output(int shuffleId, long mapId) {}

  /** The executors that have the outputs which were opened last. */
  private final Map<Output, OutputFolders> owners =
      Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Output, OutputFolders> eldest) {
          return size() > MAX_REMEMBERED;
        }
      });

  private final Supplier<Grant> grant;

  GrantedOutputs(Supplier<Grant> grant) {
    this.grant = grant;
  }

  @Override
  public Files open(int shuffleId, long mapId) throws IOException {
    String output = "shuffle_" + shuffleId + "_" + mapId + "_0";
    Grant now = grant.get();
    Output key = new Output(shuffleId, mapId);
    OutputFolders owner = owners.get(key);
    if (owner != null && now.executors().contains(owner)) {
      try {
        return open(owner, output, now.uid());
      } catch (IOException e) {
        LOG.trace("{} is not in {} any more", output, owner);
        owners.remove(key, owner);
      }
    }
    IOException why = null;
    for (OutputFolders executor : now.executors()) {
      try {
        Files found = open(executor, output, now.uid());
        owners.put(key, executor);
        return found;
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
