/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.AsyncEvent;
import org.shufflerdma.verbs.CompletionQueue;

/** Ends what a failing device, or a dying thread of the transport, takes with it. Any thread may call. */
record TransportEnd(
    ConnectionPool connections,
    InboundListener listener,
    CompletionQueue queue,
    CompletionQueue idleQueue)
    implements DeviceEvents.Subscriber {
  @Override
  public void happened(AsyncEvent event) {
    String what = "device event " + event.text();
    switch (event.type()) {
      case AsyncEvent.DEVICE_FATAL -> endAll(what);
      case AsyncEvent.CQ_ERR -> {
        if (queue.isSubjectOf(event) || idleQueue.isSubjectOf(event)) {
          endAll(what);
        }
      }
      case AsyncEvent.QP_FATAL -> {
        connections.breakQueuePair((int) event.element(), what);
        listener.endQueuePair((int) event.element());
      }
      default -> {}
    }
  }

  @Override
  public void threadDied(Throwable cause) {
    endAll("a thread of the transport died: " + cause);
  }

  private void endAll(String what) {
    listener.refuse();
    connections.close(PeerFailure.DEVICE, what);
  }
}
