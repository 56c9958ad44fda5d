/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.TestDevice;

/**
 * Whatever is false in what leads to a block, its bytes are right or do not come. The rounds follow from
 * a seed, which is printed; {@code -Dforged.seed} and {@code -Dforged.rounds} take it back, or more of them.
 */
@Timeout(3600)
class ForgedLocationTest extends FetcherScene {
  private static final int SHUFFLE_ID = 3; // of TestMapOutput

  /** The software device leaves a process alone that has had 256 wrong keys in a minute. */
  private static final int ROUNDS_PER_MINUTE = 400;

  private static final long[] LENGTHS = {100, 5_000, 0, 300, 64};
  private static final long[] CURIOUS = {
    0,
    1,
    15,
    16,
    63,
    64,
    4096,
    1 << 20,
    Integer.MAX_VALUE,
    1L << 32,
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    -1,
    -64
  };

  private TestMapOutput target;
  private TestMapOutput other;

  @BeforeEach
  void publishOutputs() throws Exception {
    target = publish(1, LENGTHS);
    other = publish(2, 640, 64, 64);
  }

  private CollectingListener fetch(PeerId from, BlockRequest... blocks) throws Exception {
    return fetch(from, List.of(blocks));
  }

  @Test
  void aUsersRecordThatLooksLikeADescriptorIsNotBelieved() throws Exception {
    byte[] wrong =
        "these bytes are of another map output".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    CRC32C crc = new CRC32C();
    crc.update(wrong, 0, wrong.length);
    int size = (int) MapOutputDescriptor.sizeBytes(1);
    Path file = Files.write(directory.resolve("records"), new byte[size + wrong.length]);
    try (MappedFile mapped = MappedFile.open(file);
        MemoryRegion region =
            owner.protectionDomain().register(mapped, 0, mapped.size(), Access.REMOTE_READ)) {
      ByteBuffer content = ByteBuffer.allocate(size + wrong.length);
      MapOutputDescriptor.encode(
          content,
          region.address(),
          new DescriptorSeal("a guess".getBytes(java.nio.charset.StandardCharsets.UTF_8)),
          new MapOutputDescriptor.Header(
              ChecksumAlgorithm.CRC32C,
              SHUFFLE_ID,
              1,
              2,
              1,
              region.address() + size,
              wrong.length,
              region.rkey()),
          new long[] {wrong.length},
          new int[] {(int) crc.getValue()});
      Files.write(file, content.put(size, wrong).array());
      DescriptorRef forged =
          new DescriptorRef(region.address(), region.rkey(), 2, SHUFFLE_ID, 1, 1);
      CollectingListener listener = fetch(peer, new BlockRequest(7, forged, 0, 1, null));
      assertThat(listener.failures).isEqualTo(Map.of(7L, TcpReason.DESCRIPTOR));
    }
  }

  @Test
  void aCopyOfADescriptorIsNotBelieved() throws Exception {
    int size = (int) MapOutputDescriptor.sizeBytes(LENGTHS.length);
    ArenaSlice copy = arena.allocate(size);
    copy.buffer().put(target.descriptor().buffer());
    DescriptorRef real = target.ref();
    DescriptorRef forged = new DescriptorRef(
        copy.address(),
        copy.rkey(),
        real.generation(),
        real.shuffleId(),
        real.mapId(),
        real.partitions());
    CollectingListener listener = fetch(peer, new BlockRequest(7, forged, 0, 1, null));
    assertThat(listener.failures).isEqualTo(Map.of(7L, TcpReason.DESCRIPTOR));
    copy.close();
  }

  @Test
  void bytesAreRightOrDoNotComeWhateverIsForged() throws Exception {
    long seed = Long.getLong("forged.seed", System.nanoTime());
    int rounds = Integer.getInteger("forged.rounds", TestDevice.isSoft() ? 400 : 200);
    System.out.println("forged.seed=" + seed + " forged.rounds=" + rounds);
    Random random = new Random(seed);
    Map<TcpReason, Integer> reasons = new EnumMap<>(TcpReason.class);
    int delivered = 0;
    for (int round = 0; round < rounds; round++) {
      if (round > 0 && round % ROUNDS_PER_MINUTE == 0) {
        TimeUnit.MINUTES.sleep(1);
      }
      readWithoutForgery();
      Map.@Nullable Entry<TcpReason, String> failure = switch (random.nextInt(4)) {
        case 0 -> fetchByForgedTrailer(random);
        case 1 -> fetchFromForgedPeer(random);
        case 2 -> fetchByForgedBytes(random);
        default -> fetchByASealedLie(random);
      };
      if (failure == null) {
        delivered++;
      } else {
        assertThat(failure.getKey())
            .as("seed %d, round %d: %s", seed, round, failure.getValue())
            .isNotEqualTo(TcpReason.INTERNAL);
        reasons.merge(failure.getKey(), 1, Integer::sum);
      }
    }
    System.out.println("forged: " + delivered + " right, the others " + reasons);
    assertThat(reasons)
        .containsKeys(
            TcpReason.DESCRIPTOR,
            TcpReason.REMOTE_ACCESS,
            TcpReason.CHECKSUM,
            TcpReason.NONCE,
            TcpReason.REJECTED,
            TcpReason.CONNECT);
    CollectingListener listener = fetch(peer, target.block(0, 0, LENGTHS.length));
    assertThat(listener.blocks.get(0L)).isEqualTo(target.expected(0, LENGTHS.length));
  }

  /** READs of data that succeed keep the owner's circuit breaker closed. */
  private void readWithoutForgery() throws Exception {
    CollectingListener listener = fetch(peer, other.block(0, 0, 3));
    assertThat(listener.blocks.get(0L)).isEqualTo(other.expected(0, 3));
    fetcher.forgetShuffle(SHUFFLE_ID);
  }

  /** The block by this reference: why it did not come, or null after its bytes were found right. */
  private Map.@Nullable Entry<TcpReason, String> fetchBy(
      PeerId from, DescriptorRef ref, Random random) throws Exception {
    int start = random.nextInt(Math.min(ref.partitions(), LENGTHS.length));
    int end = start + 1 + random.nextInt(Math.min(ref.partitions(), LENGTHS.length) - start);
    CollectingListener listener = fetch(from, new BlockRequest(7, ref, start, end, null));
    TcpReason reason = listener.failures.get(7L);
    String what = "partitions " + start + ".." + end + " by " + ref + " of " + from;
    if (reason != null) {
      assertThat(listener.causes.get(7L))
          .as("what the log says of %s", what)
          .hasMessageNotContaining(Long.toString(target.ref().address()))
          .hasMessageNotContaining(Long.toString(target.region().address()));
      return Map.entry(reason, what);
    }
    TestMapOutput named = ref.mapId() == other.ref().mapId() ? other : target;
    assertThat(listener.blocks.get(7L)).as(what).isEqualTo(named.expected(start, end));
    return null;
  }

  private Map.@Nullable Entry<TcpReason, String> fetchByForgedTrailer(Random random)
      throws Exception {
    DescriptorRef real = target.ref();
    long address = real.address();
    int rkey = real.rkey();
    long generation = real.generation();
    int shuffleId = real.shuffleId();
    long mapId = real.mapId();
    int partitions = real.partitions();
    for (int lies = 1 + random.nextInt(2); lies > 0; lies--) {
      switch (random.nextInt(9)) {
        case 0 -> address += curious(random);
        case 1 -> address = curious(random);
        case 2 -> address = other.ref().address();
        case 3 -> {
          address = target.region().address();
          rkey = target.region().rkey();
        }
        case 4 -> rkey = random.nextInt();
        case 5 -> generation = random.nextBoolean() ? other.ref().generation() : curious(random);
        case 6 -> shuffleId = (int) curious(random);
        case 7 -> mapId = random.nextBoolean() ? other.ref().mapId() : curious(random);
        default -> partitions = Math.max(1, (int) curious(random));
      }
    }
    return fetchBy(
        peer, new DescriptorRef(address, rkey, generation, shuffleId, mapId, partitions), random);
  }

  private Map.@Nullable Entry<TcpReason, String> fetchFromForgedPeer(Random random)
      throws Exception {
    RdmaEndpoint real = peer.endpoint();
    Nonce nonce = real.bootNonce();
    RdmaEndpoint readers = reader.endpoint();
    PeerId forged = switch (random.nextInt(5)) {
      case 0 -> new PeerId(OWNER, new RdmaEndpoint(real.host(), real.port(), Nonce.random()));
      case 1 ->
        new PeerId(
            OWNER,
            new RdmaEndpoint(real.host(), real.port(), new Nonce(nonce.high(), random.nextLong())));
      case 2 -> new PeerId(OWNER, new RdmaEndpoint(readers.host(), readers.port(), nonce));
      case 3 -> new PeerId("executor " + random.nextInt(), real);
      default -> new PeerId(OWNER, new RdmaEndpoint(real.host(), 1 + random.nextInt(1000), nonce));
    };
    return fetchBy(forged, target.ref(), random);
  }

  /** Bits of the descriptor flip, or words of it are overwritten, in the owner's memory. */
  private Map.@Nullable Entry<TcpReason, String> fetchByForgedBytes(Random random)
      throws Exception {
    ByteBuffer descriptor = target.descriptor().buffer();
    byte[] real = new byte[descriptor.remaining()];
    descriptor.duplicate().get(real);
    long wrongReads = remoteAccessErrors();
    for (int lies = 1 + random.nextInt(3); lies > 0; lies--) {
      if (random.nextBoolean()) {
        int at = random.nextInt(real.length);
        descriptor.put(at, (byte) (descriptor.get(at) ^ (1 << random.nextInt(8))));
      } else {
        descriptor
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(random.nextInt(real.length / 8) * 8, curious(random));
      }
    }
    try {
      Map.@Nullable Entry<TcpReason, String> failure = fetchBy(peer, target.ref(), random);
      assertThat(remoteAccessErrors()).as("READs by what had no seal").isEqualTo(wrongReads);
      return failure;
    } finally {
      descriptor.put(0, real);
      fetcher.forgetShuffle(SHUFFLE_ID);
    }
  }

  /** The owner itself seals a header or entries that are not so; what is left are range and checksum. */
  private Map.@Nullable Entry<TcpReason, String> fetchByASealedLie(Random random) throws Exception {
    ArenaSlice slice = target.descriptor();
    byte[] real = new byte[slice.buffer().remaining()];
    slice.buffer().get(real);
    long[] lengths = LENGTHS.clone();
    int[] checksums = new int[lengths.length];
    ByteBuffer bytes = ByteBuffer.wrap(real).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < checksums.length; i++) {
      checksums[i] = bytes.getInt((int) MapOutputDescriptor.entryAt(i) + 8);
    }
    long address = target.region().address();
    int rkey = target.region().rkey();
    switch (random.nextInt(4)) {
      case 0 -> address += random.nextBoolean() ? 1 + random.nextInt(64) : curious(random);
      case 1 -> rkey = random.nextBoolean() ? other.region().rkey() : random.nextInt();
      case 2 -> lengths[random.nextInt(lengths.length)] += 1 + random.nextInt(1 << 20);
      default -> {
        // Not to 0: an empty block has no bytes whose checksum could be wrong.
        lengths[0] -= 1 + random.nextInt((int) lengths[0] - 1);
        lengths[3] += 100;
      }
    }
    MapOutputDescriptor.encode(
        slice.buffer(),
        slice.address(),
        TestTransports.seal(),
        new MapOutputDescriptor.Header(
            ChecksumAlgorithm.CRC32C,
            SHUFFLE_ID,
            target.ref().mapId(),
            target.ref().generation(),
            lengths.length,
            address,
            java.util.Arrays.stream(lengths).sum(),
            rkey),
        lengths,
        checksums);
    try {
      return fetchBy(peer, target.ref(), random);
    } finally {
      slice.buffer().put(real);
      fetcher.forgetShuffle(SHUFFLE_ID);
    }
  }

  private long remoteAccessErrors() {
    return reader.stats().readErrors.sum();
  }

  private static long curious(Random random) {
    long value = CURIOUS[random.nextInt(CURIOUS.length)];
    return random.nextBoolean() ? value : random.nextLong();
  }
}
