/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.CompletionBatch;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.ReadBatch;
import org.shufflerdma.verbs.WcStatus;

/**
 * Issues READs over one link, several in flight, into a buffer of its own, in which those of many
 * large READs overlap. One thread uses it.
 */
final class Reader implements AutoCloseable {
  static final int CHUNK_BYTES = 1 << 20;

  /** A value that is no {@link WcStatus}. */
  static final int NONE = -1;

  /** The most READs in progress. */
  static final int WINDOW = 32;

  private static final long SINK_BYTES = 16L << 20;
  private static final int BULK_WINDOW = 16;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(60);

  private final Links.Link link;
  private final NativeMemory sink;
  private final MemoryRegion region;
  private final ReadBatch batch = new ReadBatch(1);
  private final CompletionBatch completions = new CompletionBatch(WINDOW);

  private Reader(Links.Link link, NativeMemory sink, MemoryRegion region) {
    this.link = link;
    this.sink = sink;
    this.region = region;
  }

  static Reader open(Links.Link link, ProtectionDomain domain) throws IOException {
    NativeMemory sink = NativeMemory.allocate(SINK_BYTES, true);
    try {
      return new Reader(
          link, sink, domain.register(sink.address(), sink.size(), Access.LOCAL_WRITE));
    } catch (Throwable t) {
      sink.close();
      throw t;
    }
  }

  /** Reads the first {@code length} bytes of a region; returns bytes per nanosecond. */
  double bandwidth(MemoryRegion remote, long length) throws IOException {
    long start = System.nanoTime();
    long posted = 0;
    int inFlight = 0;
    for (int slot = 0; posted < length || inFlight > 0; ) {
      if (posted < length && inFlight < BULK_WINDOW) {
        int bytes = (int) Math.min(CHUNK_BYTES, length - posted);
        post(remote.address() + posted, remote.rkey(), bytes, slot);
        posted += bytes;
        slot = (slot + 1) % BULK_WINDOW;
        inFlight++;
      } else {
        inFlight -= await();
      }
    }
    return (double) length / (System.nanoTime() - start);
  }

  /**
   * Returns how many READs of {@code bytes} complete per second, of regions that {@code random}
   * chooses.
   */
  double randomReads(List<MemoryRegion> regions, int bytes, Random random, long budgetNs)
      throws IOException {
    long start = System.nanoTime();
    long done = 0;
    int inFlight = 0;
    boolean more = true;
    for (int slot = 0; more || inFlight > 0; ) {
      if (more && inFlight < BULK_WINDOW) {
        MemoryRegion remote = regions.get(random.nextInt(regions.size()));
        post(remote.address(), remote.rkey(), bytes, slot);
        slot = (slot + 1) % BULK_WINDOW;
        inFlight++;
      } else {
        int completed = await();
        inFlight -= completed;
        done += completed;
        more = System.nanoTime() - start < budgetNs;
      }
    }
    return done * 1e9 / (System.nanoTime() - start);
  }

  /**
   * Keeps {@code depth} READs of {@code bytes}, from one end of a region to the other and again, in
   * progress for the time, and waits for the last ones. Returns how long each took from when it was
   * posted until its completion was seen.
   */
  Latencies timed(RemoteMemory remote, int bytes, int depth, long budgetNs) throws IOException {
    Latencies latencies = new Latencies(bytes);
    long[] posted = new long[depth];
    long places = remote.length() / bytes;
    long place = 0;
    long start = System.nanoTime();
    for (int slot = 0; slot < depth; slot++, place++) {
      posted[slot] = System.nanoTime();
      post(remote.address() + place % places * bytes, remote.rkey(), bytes, slot);
    }
    boolean more = true;
    for (int inProgress = depth; inProgress > 0; ) {
      int completed = await();
      long now = System.nanoTime();
      more &= now - start < budgetNs && !latencies.isFull(depth);
      for (int i = 0; i < completed; i++) {
        int slot = (int) completions.wrId(i);
        latencies.add(now - posted[slot]);
        if (more) {
          posted[slot] = System.nanoTime();
          post(remote.address() + place++ % places * bytes, remote.rkey(), bytes, slot);
        } else {
          inProgress--;
        }
      }
    }
    latencies.end(System.nanoTime() - start);
    return latencies;
  }

  /** Reads one range and returns a view of the bytes, which is valid until the next READ. */
  ByteBuffer read(RemoteMemory remote, long offset, int bytes) throws IOException {
    post(remote.address() + offset, remote.rkey(), bytes, 0);
    await();
    return sink.slice(0, bytes);
  }

  /**
   * Posts one READ that nobody will answer; returns the status of its completion, or NONE after the
   * time.
   */
  int statusOfUnanswered(MemoryRegion remote, long patienceNs) throws IOException {
    post(remote.address(), remote.rkey(), 1, 0);
    return awaitAny(patienceNs) == 0 ? NONE : completions.status(0);
  }

  private void post(long address, int rkey, int bytes, int slot) throws IOException {
    batch.clear();
    batch.add(
        slot,
        region.address() + slot % (SINK_BYTES / bytes) * bytes,
        region.lkey(),
        bytes,
        address,
        rkey,
        true);
    link.reader().postReads(batch);
  }

  private int await() throws IOException {
    int polled = awaitAny(PATIENCE_NS);
    if (polled == 0) {
      throw new IOException(
          "a READ did not complete within " + TimeUnit.NANOSECONDS.toSeconds(PATIENCE_NS) + " s");
    }
    for (int i = 0; i < polled; i++) {
      if (completions.status(i) != WcStatus.SUCCESS) {
        throw new IOException("a READ ended with " + WcStatus.text(completions.status(i))
            + ", vendor error " + completions.vendorError(i));
      }
    }
    return polled;
  }

  /** Waits for completions and returns their number; 0 only after the time. */
  private int awaitAny(long patienceNs) throws IOException {
    long start = System.nanoTime();
    while (link.completions().poll(completions) == 0 && System.nanoTime() - start < patienceNs) {
      Thread.onSpinWait();
    }
    return completions.size();
  }

  @Override
  public void close() throws IOException {
    region.close();
    sink.close();
  }
}
