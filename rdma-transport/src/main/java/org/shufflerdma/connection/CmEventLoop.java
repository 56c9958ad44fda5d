/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes rdma_cm events and hands each to the handler of its id. One thread turns it. Handlers run
 * there, before the event is acknowledged: they must not block, nor close an id.
 */
final class CmEventLoop {
  private static final Logger LOG = LoggerFactory.getLogger(CmEventLoop.class);
  private static final int WAIT_MS = 200;

  interface Handler {
    void handle(CmEvent event);
  }

  private final EventChannel channel;
  private final Map<ConnectionId, Handler> handlers = new ConcurrentHashMap<>();

  CmEventLoop(EventChannel channel) {
    this.channel = channel;
  }

  /** A new id whose events go to the handler from the first on. */
  ConnectionId createId(Handler handler) throws VerbsException {
    ConnectionId id = channel.createId();
    handlers.put(id, handler);
    return id;
  }

  /** Gives the id's events to the handler from now on. */
  void handle(ConnectionId id, Handler handler) {
    handlers.put(id, handler);
  }

  void forget(ConnectionId id) {
    handlers.remove(id);
  }

  void turn() throws VerbsException {
    ConnectionId orphan = null;
    try (CmEvent event = channel.poll(WAIT_MS)) {
      if (event != null) {
        orphan = dispatch(event);
      }
    }
    if (orphan != null) {
      orphan.close();
    }
  }

  /**
   * A connect request has no handler of its own yet: it is its listener's. Its id, if the listener is
   * about to be destroyed and takes no more, is returned to be destroyed once the event is
   * acknowledged; that rejects the request.
   */
  private @Nullable ConnectionId dispatch(CmEvent event) {
    ConnectionId about = event.listenId() == null ? event.id() : event.listenId();
    Handler handler = handlers.get(about);
    if (handler == null) {
      LOG.debug("No handler is registered for {}", event);
      return event.type() == CmEventType.CONNECT_REQUEST ? event.id() : null;
    }
    try {
      handler.handle(event);
    } catch (RuntimeException e) {
      LOG.error("Event {} could not be handled", event, e);
    }
    return null;
  }
}
