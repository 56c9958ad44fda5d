/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.RegisteredOutput;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs of another shuffle manager, in Spark's files. Each one is registered when it is asked for, if there is room, by a thread
 * that this owns; until then it is staged. Nobody tells when a shuffle is removed, so this thread looks for files that are gone. Any
 * thread may call; the owner closes it before the registry.
 */
public final class RequestedOutputs implements CommittedOutputs, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RequestedOutputs.class);

  /** The files of a removed shuffle keep their pages and their disk space until then. */
  private static final int LOOK_MS = 2_000;

  private record Key(int shuffleId, long mapId) {
    static final Comparator<Key> ORDER =
        Comparator.comparingInt(Key::shuffleId).thenComparingLong(Key::mapId);
  }

  /** What has become of a map output: where it is, or nothing while it is being registered or if it could not be. */
  private static final class Outcome {
    private volatile @Nullable RegisteredOutput at;
    private @Nullable PublishedOutput output; // touched by the thread alone
  }

  private final CommittedFiles files;
  private final MapOutputRegistry registry;
  private final ChecksumMode checksums;
  private final NavigableMap<Key, Outcome> outcomes = new ConcurrentSkipListMap<>(Key.ORDER);
  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(1, task -> Workers.thread("shuffle-rdma-register", task));

  public RequestedOutputs(
      DiskBlockManager disks, MapOutputRegistry registry, ChecksumMode checksums) {
    this.files = new CommittedFiles(disks);
    this.registry = registry;
    this.checksums = checksums;
    var unused = thread.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
  }

  @Override
  public Files open(int shuffleId, long mapId) throws IOException {
    return files.open(shuffleId, mapId);
  }

  @Override
  public @Nullable RegisteredOutput registered(int shuffleId, long mapId) {
    Key key = new Key(shuffleId, mapId);
    Outcome known = outcomes.get(key);
    if (known != null) {
      return known.at;
    }
    Outcome begun = new Outcome();
    if (outcomes.putIfAbsent(key, begun) == null) {
      try {
        thread.execute(() -> register(key, begun));
      } catch (RejectedExecutionException e) {
        LOG.debug("{} is not registered, as the executor is stopping", key, e);
      }
    }
    return null;
  }

  /** One that finds no room is staged from then on, as one is that has none when a map task ends. */
  private void register(Key key, Outcome outcome) {
    try {
      long[] lengths = lengthsOf(key);
      File data = dataFile(key);
      PublishedOutput output = registry.publish(new MapOutputFile(
          key.shuffleId,
          key.mapId,
          data.toPath(),
          lengths,
          checksums == ChecksumMode.OFF
              ? PartitionChecksums.none()
              : PartitionChecksums.compute(data.toPath(), lengths)));
      outcome.output = output;
      outcome.at = new RegisteredOutput(
          output.descriptorAddress(), output.descriptorRkey(), output.generation(), lengths.length);
    } catch (NotPublishedException | IOException e) {
      LOG.debug("Map output {} is staged each time that it is read", key, e);
    } catch (RuntimeException | Error e) {
      LOG.warn("Map output {} could not be registered", key, e);
    }
  }

  private long[] lengthsOf(Key key) throws IOException {
    try (Files open = files.open(key.shuffleId, key.mapId)) {
      LongBuffer offsets = offsetsIn(open.index());
      long[] lengths = new long[offsets.limit() - 1];
      boolean isDamaged = false;
      for (int i = 0; i < lengths.length; i++) {
        lengths[i] = offsets.get(i + 1) - offsets.get(i);
        isDamaged |= lengths[i] < 0;
      }
      if (isDamaged
          || offsets.get(0) != 0
          || offsets.get(lengths.length) != open.data().size()) {
        throw new IOException("the index of " + key + " is not that of its data");
      }
      return lengths;
    }
  }

  private static LongBuffer offsetsIn(FileChannel index) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(index.size()));
    while (bytes.hasRemaining() && index.read(bytes, bytes.position()) >= 0) {}
    LongBuffer offsets = bytes.flip().asLongBuffer();
    if (offsets.limit() < 2) {
      throw new IOException("an index of " + bytes.limit() + " bytes");
    }
    return offsets;
  }

  private File dataFile(Key key) {
    BlockId block = new ShuffleDataBlockId(key.shuffleId, key.mapId, CommittedFiles.ALL_REDUCERS);
    return files.disks().getFile(block);
  }

  /**
   * Gives up what is gone of shuffles whose oldest file is gone. Spark deletes the files of a shuffle together, but can write new ones
   * under the same id.
   */
  private void look() {
    try {
      Key oldest = outcomes.isEmpty() ? null : outcomes.firstKey();
      while (oldest != null) {
        if (!dataFile(oldest).exists()) {
          giveUpWhatIsGone(oldest.shuffleId);
        }
        oldest = outcomes.higherKey(new Key(oldest.shuffleId, Long.MAX_VALUE));
      }
    } catch (RuntimeException | Error e) { // the next look comes all the same
      LOG.warn("Map outputs whose files are gone could not be looked for", e);
    }
  }

  private void giveUpWhatIsGone(int shuffleId) {
    boolean someStay = false;
    Map<Key, Outcome> gone = new HashMap<>();
    for (Map.Entry<Key, Outcome> one : outcomes
        .subMap(new Key(shuffleId, Long.MIN_VALUE), new Key(shuffleId, Long.MAX_VALUE))
        .entrySet()) {
      if (dataFile(one.getKey()).exists()) {
        someStay = true;
      } else {
        gone.put(one.getKey(), one.getValue());
      }
    }
    outcomes.keySet().removeAll(gone.keySet());
    if (!someStay) {
      registry.removeShuffle(shuffleId);
      return;
    }
    registry.remove(
        shuffleId,
        gone.values().stream()
            .map(outcome -> outcome.output)
            .filter(Objects::nonNull)
            .toList());
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
