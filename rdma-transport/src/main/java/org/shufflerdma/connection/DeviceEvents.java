/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.AsyncEvent;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the device's asynchronous events, counts them, and ends what a failing device, or a dying
 * thread of the transport, takes with it. One thread turns it.
 *
 * @param portLog lets a line on the ports through now and then, as they may flap
 */
record DeviceEvents(
    DeviceContext device,
    ConnectionPool connections,
    InboundListener listener,
    LogThrottle portLog) {
  private static final Logger LOG = LoggerFactory.getLogger(DeviceEvents.class);
  private static final int WAIT_MS = 200;

  void turn() throws VerbsException {
    AsyncEvent event = device.pollAsyncEvent(WAIT_MS);
    if (event != null) {
      if (tellsOfThePort(event) && portLog.tryLog() >= 0) {
        LOG.warn("Device {} reports {} of port {}", device.name(), event.text(), event.element());
      } else {
        LOG.debug("Device event {}", event);
      }
      handle(event);
    }
  }

  private static boolean tellsOfThePort(AsyncEvent event) {
    return switch (event.type()) {
      case AsyncEvent.PORT_ERR, AsyncEvent.PORT_ACTIVE, AsyncEvent.GID_CHANGE -> true;
      default -> false;
    };
  }

  private void handle(AsyncEvent event) {
    String what = "device event " + event.text();
    switch (event.type()) {
      case AsyncEvent.DEVICE_FATAL, AsyncEvent.CQ_ERR -> endAll(what);
      case AsyncEvent.QP_FATAL -> connections.breakQueuePair(event.element(), what);
      default -> {}
    }
  }

  void threadDied(Throwable cause) {
    endAll("a thread of the transport died: " + cause);
  }

  private void endAll(String what) {
    listener.refuse();
    connections.close(PeerFailure.DEVICE, what);
  }
}
