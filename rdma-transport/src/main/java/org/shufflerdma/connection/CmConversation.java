/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;

/**
 * The events of one outgoing connection: awaited step by step while it is made, then watched for
 * its end. Fed by the event loop, awaited by the thread that connects.
 */
final class CmConversation implements CmEventLoop.Handler {
  /** The last three come for a connection that we hold to be made when our answer gets lost. */
  private static final Set<CmEventType> ENDS = Set.of(
      CmEventType.DISCONNECTED,
      CmEventType.DEVICE_REMOVAL,
      CmEventType.REJECTED,
      CmEventType.UNREACHABLE,
      CmEventType.CONNECT_ERROR);

  /** The part of an event that is kept after its acknowledgement. */
  @SuppressWarnings("ArrayRecordComponent")
  record Outcome(CmEventType type, int status, byte[] privateData) {}

  private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
  private volatile @Nullable Connection connection;
  private volatile @Nullable CmEventType end;

  @Override
  public void handle(CmEvent event) {
    if (ENDS.contains(event.type())) {
      end = event.type();
      breakIfEnded();
    }
    outcomes.add(new Outcome(event.type(), event.status(), event.privateData()));
  }

  /** The next event, or null at the deadline. */
  @Nullable
  Outcome await(Deadline deadline) throws InterruptedException {
    return outcomes.poll(deadline.remainingNs(), TimeUnit.NANOSECONDS);
  }

  /** From now on, and if it has come already, the connection's end breaks it. */
  void watchFor(Connection established) {
    connection = established;
    breakIfEnded();
  }

  /** Called after either field is set: whichever thread comes second sees both. */
  private void breakIfEnded() {
    Connection watched = connection;
    CmEventType type = end;
    if (watched != null && type != null) {
      watched.breakWith(PeerFailure.DISCONNECTED, "the connection manager reports " + type);
    }
  }
}
