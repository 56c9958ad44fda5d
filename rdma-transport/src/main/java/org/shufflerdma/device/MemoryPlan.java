/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;

/**
 * What an executor may keep registered on a device, and for what. The parts together are {@code
 * maxRegisteredBytes}.
 *
 * @param outputBytes map outputs and their descriptors
 * @param stagingBytes what readers are lent, in which outputs that are not registered are staged
 * @param poolBytes fetch buffers
 * @param queueBytes the most that the device's queues take beside that, as {@link RdmaTransport#queueBytes} estimates it
 * @param reason where the sum comes from
 */
public record MemoryPlan(
    long outputBytes, long stagingBytes, long poolBytes, long queueBytes, String reason) {
  private static final long MIB = 1 << 20;

  /**
   * The budget for a device that pins nothing, where resident pages of mapped files do not count.
   */
  private static final long UNPINNED_BYTES = 64L << 30;

  private static final long MOST_POOL_BYTES = 4L << 30;

  /** Below this, half of all may be fetch buffers instead of a quarter. */
  private static final long SMALL_POOL_BYTES = 64 * MIB;

  private static final long MOST_STAGING_BYTES = 1L << 30;

  /** One part in so many is for staging. */
  private static final int STAGING_SHARE = 8;

  private static final long LEAST_BYTES = 64 << 10;

  private record Limit(long bytes, String reason) {}

  /**
   * Takes what is set, and derives the rest.
   *
   * @param pins whether the device keeps in memory what is registered
   */
  public static MemoryPlan of(RdmaSettings settings, ExecutorMemory memory, boolean pins) {
    return of(settings, memory, pins, TransportSettings.mostQueueBytes(settings));
  }

  /**
   * Does the same on a host that need not have native code, for an executor elsewhere.
   *
   * @param queueBytes what the plan is to say of the device's queues
   */
  public static MemoryPlan of(
      RdmaSettings settings, ExecutorMemory memory, boolean pins, long queueBytes) {
    Limit memoryLimit = memoryLimit(memory);
    Limit all;
    Long set = settings.maxRegisteredBytes();
    if (set != null) {
      all = new Limit(set, settings.key("maxRegisteredBytes") + "=" + text(set));
    } else if (pins) {
      all = least(List.of(memoryLimit, lockable(memory)));
    } else if (memory.residentCounts()) {
      all = memoryLimit;
    } else {
      all = new Limit(UNPINNED_BYTES, "the device pins nothing");
    }
    Long poolSet = settings.poolBytes();
    long pool = poolSet == null
        ? Math.min(
            least(List.of(memoryLimit, new Limit(2 * memory.inFlightBytes(), "")))
                .bytes(),
            MOST_POOL_BYTES)
        : poolSet;
    long poolShare = Math.max(all.bytes() / 4, Math.min(all.bytes() / 2, SMALL_POOL_BYTES));
    pool = Math.min(pool, poolSet == null ? poolShare : all.bytes() / 2);
    Long stagingSet = settings.stagingBytes();
    long staging = Math.min(
        stagingSet == null ? Math.min(all.bytes() / STAGING_SHARE, MOST_STAGING_BYTES) : stagingSet,
        (all.bytes() - pool) / 2);
    return new MemoryPlan(all.bytes() - pool - staging, staging, pool, queueBytes, all.reason());
  }

  /** Returns the part of its memory that this executor can spare for registration. */
  private static Limit memoryLimit(ExecutorMemory memory) {
    List<Limit> limits = new ArrayList<>();
    if (memory.isInContainer()) {
      limits.add(new Limit(
          (memory.containerBytes() - memory.heapBytes()) / 2,
          "half of what the container's " + text(memory.containerBytes()) + " leave beside the "
              + text(memory.heapBytes()) + " of the heap"));
    }
    ExecutorMemory.Overhead overhead = memory.overhead();
    if (overhead != null) {
      limits.add(new Limit(
          overhead.bytes() / 2,
          "half of " + overhead.key() + ", which is " + text(overhead.bytes())));
    }
    if (limits.isEmpty()) {
      int executors = memory.executorsOnHost();
      limits.add(new Limit(
          memory.hostBytes() / 4 / executors,
          "a quarter of the host's " + text(memory.hostBytes())
              + (executors == 1 ? "" : ", shared by " + executors + " executors")));
    }
    return least(limits);
  }

  /** The device's own queues count there, too. */
  private static Limit lockable(ExecutorMemory memory) {
    return memory.memlock().binds()
        ? new Limit(
            memory.memlock().softBytes() / 8 * 7,
            "7/8 of what may be locked" + memory.memlock().remedy())
        : new Limit(Long.MAX_VALUE, "");
  }

  private static Limit least(List<Limit> limits) {
    Limit least = limits.stream().min(Comparator.comparingLong(Limit::bytes)).orElseThrow();
    return new Limit(Math.max(LEAST_BYTES, least.bytes()), least.reason());
  }

  /** Returns the most bytes that may be registered, which is the sum of the parts. */
  public long maxRegisteredBytes() {
    return outputBytes + stagingBytes + poolBytes;
  }

  /** Returns the text for the log. */
  @Override
  public String toString() {
    return ("%s may be registered (%s), beside queues of %s at most: %s of map outputs and descriptors,"
            + " %s for staging others, %s of fetch buffers")
        .formatted(
            text(maxRegisteredBytes()),
            reason,
            text(roundedUp(queueBytes)),
            text(outputBytes),
            text(stagingBytes),
            text(poolBytes));
  }

  /** To a whole number of the unit in which it is told, so that it is no less than what it bounds. */
  private static long roundedUp(long bytes) {
    long unit = bytes >= 10L << 30 ? 1L << 30 : bytes >= 10 * MIB ? MIB : 1 << 10;
    return (bytes + unit - 1) / unit * unit;
  }

  private static String text(long bytes) {
    return bytes >= 10L << 30
        ? "%d GiB".formatted(bytes >> 30)
        : bytes >= 10 * MIB ? "%d MiB".formatted(bytes / MIB) : "%d KiB".formatted(bytes >> 10);
  }
}
