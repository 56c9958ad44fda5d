/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What DiSNI's binding cannot reach. Bound by RegisterNatives from native-verbs/jni; handles are C
 * pointers, which nobody checks here: the callers in this package own them. Calls that return an
 * int named errno give 0 or a positive errno; those that count give a negative errno on failure.
 */
final class Natives {
  private Natives() {}

  /** Binds DiSNI's natives to the class that stands for its NativeDispatcher, relocated or not. */
  static native void registerDispatcher(Class<?> dispatcher);

  /** Binds the table of verbs; {@code softLibrary} is the software device's file, else null. */
  static native void bindProvider(@Nullable String softLibrary) throws VerbsException;

  static native String errorText(int errno);

  /** Fills the soft and the hard limit in bytes; returns true if CAP_IPC_LOCK lifts them. */
  static native boolean memlockLimit(long[] softAndHard);

  static native int setSecret(byte[] secret);

  static native int acceptSecret(byte[] secret);

  static native int forgetSecret(byte[] secret);

  static native void softCounters(long[] out) throws VerbsException;

  static native String[] deviceNames() throws VerbsException;

  static native long openDevice(String name) throws VerbsException;

  static native int closeDevice(long context);

  /** Returns the contexts that rdma_cm has opened, one for each device. */
  static native long[] cmContexts() throws VerbsException;

  static native String deviceName(long context);

  /** Fills the words that {@link DeviceQuery} reads. */
  static native void queryDevice(long context, long[] out) throws VerbsException;

  /** Fills {state, active MTU enum, max_msg_sz, link layer, GID table length}. */
  static native void queryPort(long context, int port, long[] out) throws VerbsException;

  static native void queryGid(long context, int port, int index, byte[] out) throws VerbsException;

  /**
   * Fills {type, element} and acknowledges the event; returns its text, or null after the timeout.
   */
  static native @Nullable String getAsyncEvent(long context, int timeoutMs, long[] out)
      throws VerbsException;

  /** Copies a CM event's record to {@code out} and returns its pointer; 0 after the timeout. */
  static native long getCmEvent(long channel, int timeoutMs, ByteBuffer out) throws VerbsException;

  static native int ackCmEvent(long event);

  static native void bindAddress(long id, byte[] address, int scopeId, int port)
      throws VerbsException;

  static native void resolveAddress(
      long id,
      byte @Nullable [] source,
      int sourceScopeId,
      int sourcePort,
      byte[] destination,
      int scopeId,
      int port,
      int timeoutMs)
      throws VerbsException;

  /**
   * Fills the IP address of one end and {port, scope id}; returns its length, or 0 while there is
   * none.
   */
  static native int address(long id, boolean peer, byte[] address, int[] portAndScope);

  /** Sets an option of level RDMA_OPTION_ID whose value is one byte. */
  static native void setOption(long id, int name, int value) throws VerbsException;

  /** Returns the port of the device to which the id is bound; 0 while it has none. */
  static native int port(long id);

  static native void connect(
      long id,
      int queuePairNumber,
      byte @Nullable [] privateData,
      int responderResources,
      int initiatorDepth,
      int retryCount,
      int rnrRetryCount)
      throws VerbsException;

  static native void accept(
      long id,
      int queuePairNumber,
      byte @Nullable [] privateData,
      int responderResources,
      int initiatorDepth,
      int retryCount,
      int rnrRetryCount)
      throws VerbsException;

  static native void establish(long id) throws VerbsException;

  static native void reject(long id, byte[] privateData) throws VerbsException;

  static native void disconnect(long id) throws VerbsException;

  /** Destroys the id after all its events are acknowledged; returns an errno. */
  static native int destroyId(long id);

  /**
   * Creates an RC queue pair; {@code capabilities} holds wanted, then granted values.
   *
   * @param forReads asks the provider, by ibv_create_qp_ex, for one on which only READs are posted
   */
  static native long createQueuePair(
      long id, long pd, long sendCq, long recvCq, boolean forReads, int[] capabilities)
      throws VerbsException;

  static native int destroyQueuePair(long qp);

  /**
   * Moves the queue pair to RTS as the id's connection requires, within {@link
   * QueuePairLimits#toArray}.
   */
  static native void queuePairToReady(long id, long qp, int[] limits) throws VerbsException;

  static native int queuePairToError(long qp);

  /** Fills the words that {@link QueuePairAttributes} reads. */
  static native int queryQueuePair(long qp, int[] out);

  /**
   * Returns the number posted in the low word, and the errno of the first refused request in the
   * high word.
   */
  static native long postSend(long qp, long firstWorkRequest, int count);

  static native long createCompletionQueue(long context, int cqe, long channel, int vector)
      throws VerbsException;

  static native int completionQueueCapacity(long cq);

  /** Returns an errno. */
  static native int resizeCompletionQueue(long cq, int cqe);

  static native int pollCompletions(long cq, int count, long records);

  static native int awaitCompletionEvent(long channel, int timeoutMs);

  static native long registerMemory(long pd, long address, long length, int access)
      throws VerbsException;

  static native long registerFile(
      long pd, long address, long length, int fd, long fileOffset, int access)
      throws VerbsException;

  /** Returns whether the device reads registered files instead of holding their pages. */
  static native boolean servesFiles();

  static native int memoryKey(long mr, boolean remote);

  /** Fills {address, size} of the mapping and returns the file descriptor. */
  static native int openFile(byte[] path, long[] out) throws VerbsException;

  /** Opens a file for reading as {@link OwnedFile} says, and returns the file descriptor. */
  static native int openOwnedFile(byte[] folder, byte[] subfolder, byte[] name, int uid)
      throws VerbsException;

  static native void closeFile(int fd);

  static native long mapMemory(long size, boolean hugePages) throws VerbsException;

  /** Allocates memory in 2 MiB pages of the kernel's pool; returns 0 if the pool has none free. */
  static native long mapHugePages(long size);

  /** Returns the bytes of a page, sysconf(_SC_PAGESIZE). */
  static native long pageBytes();

  static native int unmapMemory(long address, long size);

  static native ByteBuffer directBuffer(long address, int length);

  static native long bufferAddress(ByteBuffer buffer);
}
