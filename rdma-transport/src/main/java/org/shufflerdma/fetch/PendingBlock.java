/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A block that is being fetched. One thread at a time works on it; {@link #finish} selects the one
 * that reports its outcome.
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

  /** Returns true to the one caller that may report the outcome. */
  boolean finish() {
    return finished.compareAndSet(false, true);
  }

  /** Allows another report of the outcome, because the listener did not accept the first one. */
  void reopen() {
    finished.set(false);
  }

  /** Returns true once: a block whose checksum does not match is read a second time. */
  boolean mayBeReadAgain() {
    boolean may = !readAgain;
    readAgain = true;
    return may;
  }
}
