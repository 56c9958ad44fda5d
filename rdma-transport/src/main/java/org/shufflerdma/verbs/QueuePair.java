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

  /**
   * Moves the queue pair to RTS with the attributes that the connection manager negotiated, within
   * the limits. The connecting side calls this at CONNECT_RESPONSE, the other side before it
   * accepts. The peer can never do more than the limits allow.
   */
  public void toReady(QueuePairLimits limits) throws VerbsException {
    Natives.queuePairToReady(id.handle(), handle(), limits.toArray());
  }

  /** Asks the device for the attributes in force. */
  public QueuePairAttributes attributes() throws VerbsException {
    int[] words = new int[QueuePairAttributes.WORDS];
    check("ibv_query_qp", Natives.queryQueuePair(handle(), words));
    return QueuePairAttributes.of(words);
  }

  /**
   * Moves the queue pair to the error state: all outstanding work requests complete with
   * WR_FLUSH_ERR.
   */
  public void toError() throws VerbsException {
    check("ibv_modify_qp", Natives.queuePairToError(handle()));
  }

  /**
   * Posts the batch as one chained list and returns the number posted, which is always all. If the
   * device refuses a request, {@link VerbsException#posted} tells how many before it are in flight
   * nevertheless. The batch may be reused at once.
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
    check("ibv_destroy_qp", Natives.destroyQueuePair(handle));
    id.queuePairDestroyed();
  }
}
