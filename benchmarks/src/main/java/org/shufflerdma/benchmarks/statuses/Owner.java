/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.statuses;

import java.util.SplittableRandom;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import scala.Option;

/**
 * An executor, as far as the statuses of its map outputs show it. Its descriptors lie one after the other in chunks of
 * registered memory, as the plugin's do, but there is no memory: addresses and keys are made up. How well the statuses of many
 * outputs compress depends on both. Owners of the same number are the same in all processes. Not thread-safe.
 */
final class Owner {
  // As RegisteredArena has them.
  private static final long CHUNK_BYTES = 1 << 20;
  private static final int ALIGNMENT_BYTES = 64;

  private static final int PAGE_BITS = 12;
  private static final int FIRST_EPHEMERAL_PORT = 32_768;
  private static final int EPHEMERAL_PORTS = 28_232;

  private static final long MEAN_BLOCK_BYTES = 16 << 10;
  private static final int BLOCKS_PER_EMPTY_ONE = 16;

  private final SplittableRandom random;
  private final BlockManagerId id;
  private final BlockManagerId published;
  private final int hash;
  private long generation;
  private long chunkAddress;
  private long usedBytes = CHUNK_BYTES;
  private int rkey;

  Owner(int number) {
    random = new SplittableRandom(number);
    String executor = Integer.toString(number + 1);
    String host = "worker-%03d.cluster.example".formatted(number);
    id = BlockManagerId.apply(executor, host, port(), Option.empty());
    String nonceHex = "%016x%016x".formatted(random.nextLong(), random.nextLong());
    published = new PublishedEndpoint("10.20.0." + (number + 10), port(), nonceHex).addTo(id);
    hash = MapOutputTrailer.hashExecutorId(executor);
  }

  private int port() {
    return FIRST_EPHEMERAL_PORT + random.nextInt(EPHEMERAL_PORTS);
  }

  /** Returns the bytes of each block of one more output. */
  long[] nextLengths(int partitions) {
    long[] lengths = new long[partitions];
    for (int partition = 0; partition < partitions; partition++) {
      lengths[partition] = random.nextInt(BLOCKS_PER_EMPTY_ONE) == 0
          ? 0
          : 1 + (long) (random.nextExponential() * MEAN_BLOCK_BYTES);
    }
    return lengths;
  }

  /** Returns the status of an output as Spark makes it. */
  MapStatus status(long[] lengths, long taskId) {
    return MapStatus.apply(id, lengths, taskId, 0);
  }

  /** Returns the status of the same output with its location, as the plugin publishes it. */
  MapStatus statusWithLocation(long[] lengths, long taskId) {
    MapStatus status = status(lengths, taskId);
    if (!MapStatusCarrier.write(status, lengths.length, nextTrailer(lengths.length))) {
      throw new IllegalStateException("the status does not take a location");
    }
    status.updateLocation(published);
    return status;
  }

  private MapOutputTrailer nextTrailer(int partitions) {
    long descriptorBytes =
        (MapOutputDescriptor.sizeBytes(partitions) + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
    if (usedBytes + descriptorBytes > CHUNK_BYTES) {
      // Where Linux maps memory of a process.
      chunkAddress = 0x7F00_0000_0000L | (long) random.nextInt(1 << 28) << PAGE_BITS;
      rkey = random.nextInt();
      usedBytes = 0;
    }
    long address = chunkAddress + usedBytes;
    usedBytes += descriptorBytes;
    return new MapOutputTrailer(hash, ++generation, rkey, address);
  }
}
