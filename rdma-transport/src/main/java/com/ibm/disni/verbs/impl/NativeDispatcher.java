/* SPDX-License-Identifier: Apache-2.0 */
package com.ibm.disni.verbs.impl;

import com.ibm.disni.verbs.IbvWC;
import org.shufflerdma.verbs.NativeBinding;
import org.shufflerdma.verbs.VerbsException;

/**
 * DiSNI's binding to its native library, replaced by ours: the same 48 natives, loaded from the jar
 * and bound to whatever name this class is relocated to. Handles are C pointers. A verbs provider
 * must be open before any of them is called.
 */
public class NativeDispatcher {
  private static final int VERSION = 32;

  static {
    NativeBinding.register(NativeDispatcher.class);
  }

  /** Tells DiSNI's serializers the sizes of the native structures. */
  public NativeDispatcher() throws VerbsException {
    NativeBinding.requireProvider();
    if (_getVersion() != VERSION) {
      throw new IllegalStateException(
          "native version is " + _getVersion() + ", DiSNI 2.0 needs " + VERSION);
    }
    adoptSizes(this);
  }

  private static void adoptSizes(NativeDispatcher natives) {
    SockAddrIn.CSIZE = natives._getSockAddrInSize();
    NatIbvRecvWR.CSIZE = natives._getIbvRecvWRSize();
    NatIbvSendWR.CSIZE = natives._getIbvSendWRSize();
    NatIbvSge.CSIZE = natives._getIbvSgeSize();
    IbvWC.CSIZE = natives._getIbvWCSize();
    NatIbvSendWR.REMOTEADDR_OFFSET = natives._getRemoteAddressOffset();
    NatIbvSendWR.RKEY_OFFSET = natives._getRKeyOffset();
  }

  public native long _createEventChannel() throws VerbsException;

  public native long _createId(long channel, short portSpace) throws VerbsException;

  public native long _createQP(
      long id,
      long pd,
      long sendCq,
      long recvCq,
      int type,
      int maxSendWr,
      int maxRecvWr,
      int maxInline)
      throws VerbsException;

  public native void _bindAddr(long id, long address) throws VerbsException;

  public native void _listen(long id, int backlog) throws VerbsException;

  public native void _resolveAddr(long id, long source, long destination, int timeoutMs)
      throws VerbsException;

  public native void _resolveRoute(long id, int timeoutMs) throws VerbsException;

  public native int _getCmEvent(long channel, long listenIdOut, long idOut, int timeoutMs);

  public native void _connect(
      long id, int retryCount, int rnrRetryCount, long privateData, byte privateDataLength)
      throws VerbsException;

  public native void _accept(long id, int retryCount, int rnrRetryCount) throws VerbsException;

  public native int _ackCmEvent(int event);

  public native int _disconnect(long id);

  public native int _destroyEventChannel(long channel);

  public native int _destroyCmId(long id);

  public native int _destroyQP(long id);

  public native int _getSrcAddr(long id, long address);

  public native int _getDstAddr(long id, long address);

  public native int _destroyEp(long id);

  public native long _allocPd(long context) throws VerbsException;

  public native long _createCompChannel(long context) throws VerbsException;

  public native long _createCQ(long context, long channel, int cqe, int vector)
      throws VerbsException;

  public native int _modifyQP(long qp, long attributes) throws VerbsException;

  public native long _regMr(
      long pd, long address, int length, int access, long lkeyOut, long rkeyOut, long handleOut)
      throws VerbsException;

  public native int _queryOdpSupport(long context);

  public native int _expPrefetchMr(long mr, long address, int length) throws VerbsException;

  public native void _deregMr(long mr) throws VerbsException;

  public native void _postSend(long qp, long workRequests) throws VerbsException;

  public native void _postRecv(long qp, long workRequests) throws VerbsException;

  public native int _getCqEvent(long channel, int timeoutMs) throws VerbsException;

  public native int _pollCQ(long cq, int count, long records) throws VerbsException;

  public native int _reqNotifyCQ(long cq, int solicitedOnly) throws VerbsException;

  public native int _ackCqEvent(long cq, int count);

  public native int _destroyCompChannel(long channel);

  public native int _deallocPd(long pd);

  public native int _destroyCQ(long cq);

  public native long _getContext(long id) throws VerbsException;

  public native int _getQpNum(long qp) throws VerbsException;

  public native int _getContextFd(long context) throws VerbsException;

  public native int _getContextNumCompVectors(long context) throws VerbsException;

  public native int _getPdHandle(long pd) throws VerbsException;

  public native int _getSockAddrInSize();

  public native int _getIbvRecvWRSize();

  public native int _getIbvSendWRSize();

  public native int _getIbvSgeSize();

  public native int _getIbvWCSize();

  public native int _getRemoteAddressOffset();

  public native int _getRKeyOffset();

  public native int _getVersion();
}
