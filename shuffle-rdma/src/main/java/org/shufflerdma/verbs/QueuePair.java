/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.lang.ref.Reference;

/** An RC queue pair of a connection id. Any thread may post; closed before its id and its CQs. */
public final class QueuePair extends NativeObject {
  private final ConnectionId id;
  private final QueuePairCapabilities granted;
  private final int number;

  QueuePair(long handle, ConnectionId id, QueuePairCapabilities granted) throws VerbsException {
    super(handle);
    this.id = id;
    this.granted = granted;
    this.number = DISNI._getQpNum(handle);
  }

  public int number() {
    return number;
  }

  public QueuePairCapabilities capabilities() {
    return granted;
  }

  /** What the peer may do: {@link Access} flags. */
  public void setAccess(int access) throws VerbsException {
    check("ibv_modify_qp", Natives.setQueuePairAccess(handle(), access));
  }

  /** The access flags in force, asked of the device. */
  public int access() throws VerbsException {
    return query()[1];
  }

  /** The state, asked of the device. */
  public QueuePairState state() throws VerbsException {
    return QueuePairState.of(query()[0]);
  }

  private int[] query() throws VerbsException {
    int[] stateAndAccess = new int[2];
    check("ibv_query_qp", Natives.queryQueuePair(handle(), stateAndAccess));
    return stateAndAccess;
  }

  /** Moves to the error state: all outstanding work requests complete with WR_FLUSH_ERR. */
  public void toError() throws VerbsException {
    check("ibv_modify_qp", Natives.queuePairToError(handle()));
  }

  /**
   * Posts the batch as one chained list and returns how many were posted, always all. If the device
   * refuses one, {@link VerbsException#posted} tells how many before it are in flight nevertheless.
   * The batch may be reused at once.
   */
  public int postReads(ReadBatch batch) throws VerbsException {
    int size = batch.size();
    if (size == 0) {
      return 0;
    }
    long result;
    try {
      result = Natives.postSend(handle(), batch.firstWorkRequest(), size);
    } finally {
      Reference.reachabilityFence(batch);
    }
    int posted = (int) result;
    int errno = (int) (result >>> 32);
    if (errno != 0) {
      throw VerbsException.afterPosting("ibv_post_send", errno, posted, size);
    }
    return posted;
  }

  @Override
  void release(long handle) throws VerbsException {
    id.destroyQueuePair();
  }
}
