/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.AsyncEvent;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the device's asynchronous events, counts them, and ends what a failing device, or a dying
 * thread of the transport, takes with it. One thread turns it.
 */
final class DeviceEvents {
  private static final Logger LOG = LoggerFactory.getLogger(DeviceEvents.class);
  private static final int WAIT_MS = 200;

  private final DeviceContext device;
  private final ConnectionPool connections;
  private final InboundListener listener;
  private final TransportStats stats;

  DeviceEvents(
      DeviceContext device,
      ConnectionPool connections,
      InboundListener listener,
      TransportStats stats) {
    this.device = device;
    this.connections = connections;
    this.listener = listener;
    this.stats = stats;
  }

  void turn() throws VerbsException {
    AsyncEvent event = device.pollAsyncEvent(WAIT_MS);
    if (event != null) {
      LOG.debug("Device event {}", event);
      stats.countAsyncEvent(event.text());
      handle(event);
    }
  }

  private void handle(AsyncEvent event) {
    Breakage breakage = new Breakage(Breakage.Kind.DEVICE, "device event " + event.text());
    switch (event.type()) {
      case AsyncEvent.DEVICE_FATAL, AsyncEvent.CQ_ERR -> endAll(breakage);
      case AsyncEvent.QP_FATAL -> connections.breakQueuePair(event.element(), breakage);
      default -> {}
    }
  }

  void threadDied(Throwable cause) {
    endAll(new Breakage(Breakage.Kind.DEVICE, "a thread of the transport died: " + cause, cause));
  }

  private void endAll(Breakage breakage) {
    listener.refuse();
    connections.close(breakage);
  }
}
