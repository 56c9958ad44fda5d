/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * An rdma_cm event channel and the connection ids made on it. One thread polls; any thread may
 * create and use ids. Its owner closes it after all its ids; close waits for a poll in progress.
 */
public final class EventChannel extends NativeObject {
  /** The port space RDMA_PS_TCP, for reliable connections. */
  private static final short PORT_SPACE_TCP = 0x0106;

  private final Map<Long, ConnectionId> ids = new ConcurrentHashMap<>();
  private final ByteBuffer record =
      ByteBuffer.allocateDirect(CmEvent.RECORD_BYTES).order(ByteOrder.nativeOrder());

  private EventChannel(long handle) {
    super(handle);
  }

  /**
   * Opens a channel; {@link Verbs#open} must have succeeded. Without any RDMA device the system's
   * library fails with ENODEV.
   */
  public static EventChannel open() throws VerbsException {
    NativeBinding.requireProvider();
    return new EventChannel(DISNI._createEventChannel());
  }

  /**
   * Returns the devices that rdma_cm has opened. An id bound to a loopback address does not name
   * its device.
   */
  public List<DeviceContext> devices() throws VerbsException {
    return Arrays.stream(Natives.cmContexts()).mapToObj(DeviceContext::new).toList();
  }

  public ConnectionId createId() throws VerbsException {
    return adopt(DISNI._createId(handle(), PORT_SPACE_TCP));
  }

  /**
   * Waits for the next event; returns null after the timeout. The caller must close the event, and
   * before that its ids cannot be destroyed.
   */
  public synchronized @Nullable CmEvent poll(int timeoutMs) throws VerbsException {
    long event = Natives.getCmEvent(handle(), timeoutMs, record);
    if (event == 0) {
      return null;
    }
    long idHandle = record.getLong(CmEvent.ID);
    /* Only a request brings a new id; any other may be about to be closed, but is not yet freed. */
    boolean isNew = CmEvent.type(record) == CmEventType.CONNECT_REQUEST;
    ConnectionId id = isNew ? adopt(idHandle) : ids.get(idHandle);
    if (id == null) {
      NativeObject.check("rdma_ack_cm_event", Natives.ackCmEvent(event));
      throw new IllegalStateException("an event of an id that is not of this channel");
    }
    return CmEvent.read(event, record, id, ids.get(record.getLong(CmEvent.LISTEN_ID)));
  }

  private ConnectionId adopt(long idHandle) {
    ConnectionId id = new ConnectionId(this, idHandle);
    ids.put(idHandle, id);
    return id;
  }

  /** Forgets an id after it was freed; its address may already belong to another one. */
  void forget(long idHandle, ConnectionId id) {
    ids.remove(idHandle, id);
  }

  /** Closes the channel; synchronized because a poll in progress still uses it. */
  @Override
  synchronized void release(long handle) throws VerbsException {
    if (!ids.isEmpty()) {
      throw new IllegalStateException(
          "an event channel with " + ids.size() + " open connection ids cannot be closed");
    }
    check("rdma_destroy_event_channel", DISNI._destroyEventChannel(handle));
  }
}
