/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * A chain of READs that the device has, or is about to get. From posting on only the
 * thread that polls touches it, until its last completion, or the destruction of its queue pair, ends it.
 */
final class PostedList {
  final Connection connection;
  final RegisteredBuffer sink;
  final ReadCompletion completion;
  final int size;
  final long totalBytes;
  final ReadsOf readsOf;

  /** Its place in the order of the connection's posts, from 1; set once, by the post. */
  long number;

  /** When it was posted, in {@link System#nanoTime}; set once, by the post. */
  long postedNs;

  /** Set when the device took only a part: its last READ, the signalled one, will not complete. */
  volatile boolean truncated;

  /** Set once, when the list has ended. */
  private @Nullable ReadFailure failure;

  private int culprit = ReadFailure.NO_CULPRIT;
  private int wcStatus;
  private int vendorError;

  PostedList(
      Connection connection,
      RegisteredBuffer sink,
      ReadCompletion completion,
      int size,
      long totalBytes,
      ReadsOf readsOf) {
    this.connection = connection;
    this.sink = sink;
    this.completion = completion;
    this.size = size;
    this.totalBytes = totalBytes;
    this.readsOf = readsOf;
  }

  /** Notes an errored READ of this list, which was not flushed; only the first is to blame. */
  void note(int index, int status, int vendor) {
    if (culprit == ReadFailure.NO_CULPRIT) {
      culprit = index;
      wcStatus = status;
      vendorError = vendor;
    }
  }

  /** The list has ended with the connection. */
  void failed(NoConnectionException breakage) {
    failure = culprit == ReadFailure.NO_CULPRIT
        ? ReadFailure.collateral(breakage)
        : new ReadFailure(culprit, wcStatus, vendorError, breakage);
  }

  /** Tells the outcome of the list, which has ended. */
  void tell() {
    try {
      if (failure == null) {
        completion.succeeded();
      } else {
        completion.failed(failure);
      }
    } finally {
      connection.settled(this);
    }
  }
}
