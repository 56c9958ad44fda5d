/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Nonce;

/**
 * Keeps the descriptors that this process read recently, and where owners have said that they are. An entry belongs to one run
 * of one peer and to one publication, so a reused address or map id never finds an old entry. Any thread may call.
 */
public final class DescriptorCache {
  /**
   * A partition costs 12 bytes, so this is 12 MB, or a hundredth of a larger heap. A reduce task asks for
   * all maps of a shuffle one after the other: where they do not fit, most lookups fail.
   */
  static final long MAX_PARTITIONS = Math.max(1 << 20, Runtime.getRuntime().maxMemory() / 1024);

  /** What a descriptor costs by itself, in partitions, and each of its ranges. */
  private static final long PARTITIONS_PER_DESCRIPTOR = 16;

  private static final long PARTITIONS_PER_RANGE = 8;

  private record Key(Nonce bootNonce, DescriptorRef descriptor) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Key that
          && bootNonce.equals(that.bootNonce)
          && descriptor.equals(that.descriptor);
    }

    @Override
    public int hashCode() {
      return 31 * bootNonce.hashCode() + descriptor.hashCode();
    }
  }

  /** So many map outputs whose owners have said where they are. */
  private static final int MAX_LOCATED = 1 << 16;

  private record Output(Nonce bootNonce, int shuffleId, long mapId) {}

  private final Map<Output, DescriptorRef> located = new LinkedHashMap<>(16, 0.75f, true);

  private final Map<Key, KnownDescriptor> descriptors = new LinkedHashMap<>(16, 0.75f, true);
  private long partitions;
  private final Neighbourhoods neighbourhoods = new Neighbourhoods();

  public Neighbourhoods neighbourhoods() {
    return neighbourhoods;
  }

  /** Returns what is known of the descriptor, even if its lease is over; null if nothing is. */
  public synchronized @Nullable KnownDescriptor find(Nonce bootNonce, DescriptorRef descriptor) {
    return descriptors.get(new Key(bootNonce, descriptor));
  }

  /** Adds {@code known} to what is there already. */
  public synchronized void put(Nonce bootNonce, DescriptorRef descriptor, KnownDescriptor known) {
    Key key = new Key(bootNonce, descriptor);
    KnownDescriptor before = descriptors.get(key);
    KnownDescriptor merged = before == null ? known : known.withRangesOf(before);
    descriptors.put(key, merged);
    partitions += weight(merged) - (before == null ? 0 : weight(before));
    Iterator<KnownDescriptor> eldest = descriptors.values().iterator();
    while (partitions > MAX_PARTITIONS && eldest.hasNext()) {
      partitions -= weight(eldest.next());
      eldest.remove();
    }
  }

  /** The owner has said where the descriptor of a map output is. */
  public synchronized void locate(Nonce bootNonce, DescriptorRef descriptor) {
    located.put(new Output(bootNonce, descriptor.shuffleId(), descriptor.mapId()), descriptor);
    if (located.size() > MAX_LOCATED) {
      Iterator<Output> eldest = located.keySet().iterator();
      eldest.next();
      eldest.remove();
    }
  }

  /** Returns where the descriptor of a map output is, if its owner has said so, or else the output as it is. */
  public synchronized DescriptorRef located(Nonce bootNonce, DescriptorRef output) {
    if (output.isRegistered() || located.isEmpty()) {
      return output;
    }
    DescriptorRef at = located.get(new Output(bootNonce, output.shuffleId(), output.mapId()));
    return at == null ? output : at;
  }

  public synchronized void forget(Nonce bootNonce, DescriptorRef descriptor) {
    located.remove(new Output(bootNonce, descriptor.shuffleId(), descriptor.mapId()), descriptor);
    KnownDescriptor known = descriptors.remove(new Key(bootNonce, descriptor));
    if (known != null) {
      partitions -= weight(known);
    }
  }

  public synchronized void forgetShuffle(int shuffleId) {
    neighbourhoods.forgetShuffle(shuffleId);
    located.keySet().removeIf(output -> output.shuffleId() == shuffleId);
    Iterator<Map.Entry<Key, KnownDescriptor>> all = descriptors.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<Key, KnownDescriptor> entry = all.next();
      if (entry.getKey().descriptor().shuffleId() == shuffleId) {
        partitions -= weight(entry.getValue());
        all.remove();
      }
    }
  }

  private static long weight(KnownDescriptor known) {
    return PARTITIONS_PER_DESCRIPTOR + known.ranges() * PARTITIONS_PER_RANGE + known.partitions();
  }
}
