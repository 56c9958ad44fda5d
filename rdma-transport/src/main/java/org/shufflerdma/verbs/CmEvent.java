/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One rdma_cm event. Its content is a copy and stays readable; {@link #close} acknowledges it, and
 * only then can its connection ids be destroyed.
 */
public final class CmEvent implements AutoCloseable {
  /*
   * The record that Natives.getCmEvent writes, native byte order (cm_event.c):
   *
   *    0  u64 id            8  u64 listen id    16  i32 type              20  i32 status
   *   24  u32 qp number    28  i32 responder resources                    32  i32 initiator depth
   *   36  i32 private data length                                         40  private data, 256 bytes
   */
  static final int ID = 0;
  static final int LISTEN_ID = 8;
  private static final int TYPE = 16;
  private static final int STATUS = 20;
  private static final int QP_NUMBER = 24;
  private static final int RESPONDER_RESOURCES = 28;
  private static final int INITIATOR_DEPTH = 32;
  private static final int PRIVATE_DATA_LENGTH = 36;
  private static final int PRIVATE_DATA = 40;
  static final int RECORD_BYTES = 296;

  private final long handle;
  private final CmEventType type;
  private final ConnectionId id;
  private final @Nullable ConnectionId listenId;
  private final int status;
  private final byte[] privateData;
  private final int responderResources;
  private final int initiatorDepth;
  private final int qpNum;
  private final AtomicBoolean acknowledged = new AtomicBoolean();

  private CmEvent(
      long handle, ByteBuffer record, ConnectionId id, @Nullable ConnectionId listenId) {
    this.handle = handle;
    this.id = id;
    this.listenId = listenId;
    this.type = type(record);
    this.status = record.getInt(STATUS);
    this.qpNum = record.getInt(QP_NUMBER);
    this.responderResources = record.getInt(RESPONDER_RESOURCES);
    this.initiatorDepth = record.getInt(INITIATOR_DEPTH);
    this.privateData = new byte[record.getInt(PRIVATE_DATA_LENGTH)];
    record.get(PRIVATE_DATA, privateData);
  }

  static CmEventType type(ByteBuffer record) {
    return CmEventType.of(record.getInt(TYPE));
  }

  static CmEvent read(
      long handle, ByteBuffer record, ConnectionId id, @Nullable ConnectionId listenId) {
    CmEvent event = new CmEvent(handle, record, id, listenId);
    id.eventTaken();
    if (listenId != null) {
      listenId.eventTaken();
    }
    return event;
  }

  public CmEventType type() {
    return type;
  }

  /**
   * Returns the id that the event is about; for CONNECT_REQUEST a new one, which the receiver owns.
   */
  public ConnectionId id() {
    return id;
  }

  /** Returns the listening id of a CONNECT_REQUEST; null for other events. */
  public @Nullable ConnectionId listenId() {
    return listenId;
  }

  /** Returns 0, a negative errno, or the reject reason of REJECTED. */
  public int status() {
    return status;
  }

  /**
   * Returns the private data that the peer sent; rdma_cm pads it with zeroes to the message's full
   * size.
   */
  public byte[] privateData() {
    return privateData.clone();
  }

  public int responderResources() {
    return responderResources;
  }

  public int initiatorDepth() {
    return initiatorDepth;
  }

  /** Returns the peer's queue pair number. */
  public int qpNum() {
    return qpNum;
  }

  /** Acknowledges the event. */
  @Override
  public void close() throws VerbsException {
    if (acknowledged.compareAndSet(false, true)) {
      id.eventAcknowledged();
      if (listenId != null) {
        listenId.eventAcknowledged();
      }
      NativeObject.check("rdma_ack_cm_event", Natives.ackCmEvent(handle));
    }
  }

  @Override
  public String toString() {
    return type + " status " + status;
  }
}
