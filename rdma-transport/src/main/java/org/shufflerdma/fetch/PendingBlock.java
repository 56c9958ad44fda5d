/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One block on its way. One thread at a time works on it; {@link #finish} decides between those
 * that may report its outcome.
 */
final class PendingBlock {
  final BlockRequest request;
  private final AtomicBoolean finished = new AtomicBoolean();
  private volatile @Nullable KnownDescriptor descriptor;
  private boolean readAgain;

  PendingBlock(BlockRequest request) {
    this.request = request;
  }

  void resolve(KnownDescriptor known) {
    descriptor = known;
  }

  void unresolve() {
    descriptor = null;
  }

  boolean isResolved() {
    return descriptor != null;
  }

  KnownDescriptor descriptor() {
    KnownDescriptor known = descriptor;
    if (known == null) {
      throw new IllegalStateException("the descriptor of block " + request + " was not read");
    }
    return known;
  }

  long lengthBytes() {
    return descriptor().lengthBytes(request);
  }

  boolean isPending() {
    return !finished.get();
  }

  /** True for the one caller that reports the outcome. */
  boolean finish() {
    return finished.compareAndSet(false, true);
  }

  /** Lets the outcome be reported after all: the listener did not take the one that was. */
  void reopen() {
    finished.set(false);
  }

  /** True once: a block with the wrong checksum is read a second time. */
  boolean mayBeReadAgain() {
    boolean may = !readAgain;
    readAgain = true;
    return may;
  }
}
