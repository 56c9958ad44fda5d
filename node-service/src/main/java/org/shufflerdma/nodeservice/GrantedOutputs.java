/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.verbs.OwnedFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs of one application, whose user may change the granted folders at any time: only what
 * {@link OwnedFile} opens is read, by names that are made here. A reader names an output and not the
 * executor that had it, and an application may have had a thousand. Readers ask for many outputs of the few executors
 * that they cannot reach, so the executors that were found last are looked at first; who has an output is
 * remembered, so that it is searched for once. Any thread may call.
 */
final class GrantedOutputs implements CommittedOutputs {
  private static final Logger LOG = LoggerFactory.getLogger(GrantedOutputs.class);
  private static final int MAX_REMEMBERED = 1 << 16;
  private static final String JOB_DATA = "file.out";
  private static final String JOB_INDEX = "file.out.index";

  /** Executors whose outputs were found last, at most. */
  private static final int MAX_RECENT = 16;

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

  /** The executors in which outputs were found, the last one first. Replaced under this, and never changed. */
  private volatile List<OutputFolders> recent = List.of();

  private final Supplier<Grant> grant;
  private final Opener opener;

  /** Looks one file up, and opens it. */
  interface Opener {
    /** Throws NoSuchFileException if the folder has no such file. */
    FileChannel open(Path folder, String subfolder, String name, int uid) throws IOException;
  }

  GrantedOutputs(Supplier<Grant> grant) {
    this(grant, OwnedFile::open);
  }

  GrantedOutputs(Supplier<Grant> grant, Opener opener) {
    this.grant = grant;
    this.opener = opener;
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
    for (Iterator<OutputFolders> search = inOrderOfSearch(now); search.hasNext(); ) {
      OutputFolders executor = search.next();
      try {
        Files found = open(executor, output, now.uid());
        owners.put(key, executor);
        wasFound(executor);
        return found;
      } catch (NoSuchFileException e) {
        LOG.trace("{} is not in {}", output, executor);
      } catch (IOException e) { // another executor may have it nevertheless
        why = e;
      }
    }
    throw why == null ? new NoSuchFileException(output) : why;
  }

  /** Each executor once. */
  private Iterator<OutputFolders> inOrderOfSearch(Grant now) {
    List<OutputFolders> first = recent;
    return Stream.concat(
            first.stream().filter(now.executors()::contains),
            now.executors().stream().filter(executor -> !first.contains(executor)))
        .iterator();
  }

  private void wasFound(OutputFolders executor) {
    if (recent.isEmpty() || !recent.get(0).equals(executor)) {
      synchronized (this) {
        recent = Stream.concat(Stream.of(executor), recent.stream())
            .distinct()
            .limit(MAX_RECENT)
            .toList();
      }
    }
  }

  private Files open(OutputFolders executor, String output, int uid) throws IOException {
    FileChannel index = openFile(executor, output + ".index", uid);
    try {
      return new Files(openFile(executor, output + ".data", uid), index, Layout.OFFSETS);
    } catch (Throwable t) {
      index.close();
      throw t;
    }
  }

  private FileChannel openFile(OutputFolders executor, String name, int uid) throws IOException {
    OutputFolders.Place place = executor.placeOf(name);
    return opener.open(place.localDir(), place.subDir(), name, uid);
  }

  /** An output of a job, whose files may lie in different local directories. */
  @Override
  public Files open(String folder) throws IOException {
    Grant now = grant.get();
    if (!now.isOfJob()) {
      throw new NoSuchFileException(folder);
    }
    FileChannel index = openFile(now, folder, JOB_INDEX);
    try {
      return new Files(openFile(now, folder, JOB_DATA), index, Layout.SPILL_RECORD);
    } catch (Throwable t) {
      index.close();
      throw t;
    }
  }

  /** A local directory that fails, as its disk may, hides no file in another. */
  private static FileChannel openFile(Grant job, String folder, String name) throws IOException {
    IOException why = new NoSuchFileException(folder);
    for (OutputFolders folders : job.executors()) {
      for (Path jobFolder : folders.localDirs()) {
        try {
          return JobFolders.open(jobFolder, folder, name, job.uid());
        } catch (NoSuchFileException e) {
          LOG.trace("{} of {} is not in {}", name, folder, jobFolder);
        } catch (IOException e) {
          why = e;
        }
      }
    }
    throw why;
  }
}
