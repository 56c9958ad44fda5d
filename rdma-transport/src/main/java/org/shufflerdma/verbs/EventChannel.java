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
 * An rdma_cm event channel and the connection ids made on it. One thread polls; ids may be created
 * and used by any. It is closed by its owner after all its ids; a poll in progress ends before that.
 */
public final class EventChannel extends NativeObject {
  /** RDMA_PS_TCP: reliable connections. */
  private static final short PORT_SPACE_TCP = 0x0106;

  private final Map<Long, ConnectionId> ids = new ConcurrentHashMap<>();
  private final ByteBuffer record =
      ByteBuffer.allocateDirect(CmEvent.RECORD_BYTES).order(ByteOrder.nativeOrder());

  private EventChannel(long handle) {
    super(handle);
  }

  /** Needs {@link Verbs#open} first. Without any RDMA device the system's library gives ENODEV. */
  public static EventChannel open() throws VerbsException {
    NativeBinding.requireProvider();
    return new EventChannel(DISNI._createEventChannel());
  }

  /** The devices of rdma_cm: the contexts of its ids, which ids of loopback addresses do not name. */
  public List<DeviceContext> devices() throws VerbsException {
    return Arrays.stream(Natives.cmContexts()).mapToObj(DeviceContext::new).toList();
  }

  public ConnectionId createId() throws VerbsException {
    return adopt(DISNI._createId(handle(), PORT_SPACE_TCP));
  }

  /**
   * Waits for the next event; null after the timeout. The event must be closed: until then its ids
   * cannot be.
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

  /** After the native id is freed; its address may already stand for another one. */
  void forget(long idHandle, ConnectionId id) {
    ids.remove(idHandle, id);
  }

  /** Synchronized as a poll that is on its way still uses the channel. */
  @Override
  synchronized void release(long handle) throws VerbsException {
    if (!ids.isEmpty()) {
      throw new IllegalStateException(
          "an event channel with " + ids.size() + " open connection ids cannot be closed");
    }
    check("rdma_destroy_event_channel", DISNI._destroyEventChannel(handle));
  }
}
