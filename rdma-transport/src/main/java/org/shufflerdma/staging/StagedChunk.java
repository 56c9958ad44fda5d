/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One credit of a reader at an owner: a chunk of the owner's registered memory, with what has been asked to
 * be staged in it. Whoever took it {@link #release}s it once, when nothing is to be READ from it any more. Any
 * thread may call.
 */
public final class StagedChunk {
  /** Where a range stands in the chunk. */
  public record Range(
      boolean isStaged, long lengthBytes, int offsetBytes, int stagedBytes, int checksum) {}

  private final StagingClient client;
  private final ChunkGrant grant;
  private final int index;
  private final Runnable wake;

  // Guarded by this.
  private boolean asked;
  private boolean answered;
  private boolean released;
  private boolean freed;
  private List<Range> ranges = List.of();
  private @Nullable IOException failure;

  StagedChunk(StagingClient client, ChunkGrant grant, int index, Runnable wake) {
    this.client = client;
    this.grant = grant;
    this.index = index;
    this.wake = wake;
  }

  int index() {
    return index;
  }

  /**
   * Asks the owner to stage the ranges; {@link #isAnswered} tells when it has. Called once.
   *
   * @param maxBytes that are to be staged at most
   */
  public void ask(List<StagedRange> wanted, int maxBytes) {
    synchronized (this) {
      asked = true;
    }
    client.ask(this, wanted, Math.min(maxBytes, grant.chunkBytes()));
  }

  public synchronized boolean isAnswered() {
    return answered;
  }

  /** Why there will be no answer; null if there is one. */
  public synchronized @Nullable IOException failure() {
    return failure;
  }

  /** What the owner has staged, in the order of the request; those that did not fit are missing. */
  public synchronized List<Range> ranges() {
    return ranges;
  }

  /** The bytes that can be staged in it. */
  public int sizeBytes() {
    return grant.chunkBytes();
  }

  /** Where the chunk begins in the owner's memory. */
  public long remoteAddress() {
    return grant.addressOf(index);
  }

  public int rkey() {
    return grant.rkey();
  }

  void answered(List<Range> staged) {
    synchronized (this) {
      answered = true;
      ranges = staged;
    }
    settle();
    wake.run();
  }

  void failed(IOException why) {
    synchronized (this) {
      answered = true;
      failure = why;
    }
    settle();
    wake.run();
  }

  /** Gives the credit back, as soon as the owner has answered: until then it may still write there. */
  public void release() {
    synchronized (this) {
      released = true;
    }
    settle();
  }

  private void settle() {
    synchronized (this) {
      if (!released || freed || (asked && !answered)) {
        return;
      }
      freed = true;
    }
    client.giveBack(this);
  }
}
