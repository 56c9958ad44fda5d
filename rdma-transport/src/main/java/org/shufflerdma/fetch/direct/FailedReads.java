/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.function.Consumer;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.metrics.TcpReason;

/**
 * What becomes of blocks that could not be read: they are read a second time, or the node service of the peer's host serves them, or
 * they are left. Used by the task's thread alone.
 *
 * @param again is told of a peer one of whose blocks is to be posted or staged again
 */
record FailedReads(
    FetchContext context, LeftBlocks left, ServiceRoute services, Consumer<PeerBlocks> again) {
  /** Attempts to connect, and connections that broke before a list was read, in a row. */
  private static final int MAX_FAILED_CONNECTS = 2;

  /** The READs of the slot have failed. */
  void after(ReadSlot slot, ReadFailure failure) {
    IOException cause = new IOException(failure.toString(), failure.breakage());
    for (int i = 0; i < slot.blocks(); i++) {
      int block = slot.block(i);
      slot.noteAttempt(block);
      if (slot.isOfFormerOwner()) { // which says nothing about the node service
        slot.peer.putBack(block);
        again.accept(slot.peer);
      } else if (slot.isCulprit(i, failure)) {
        forget(slot, block);
        left.add(slot.peer, block, failure.tcpReason(), cause);
      } else {
        afterBreakage(slot.peer, block, failure.breakage(), cause);
      }
    }
  }

  private void afterBreakage(
      PeerBlocks peer, int block, NoConnectionException breakage, IOException cause) {
    TcpReason reason = breakage.failure().tcpReason();
    if (breakage.failure().isWorthReconnecting()) {
      repeat(peer, block, reason, cause);
    } else {
      leave(peer, block, reason, cause);
    }
  }

  /** The bytes of the block do not have its checksum. */
  void afterMismatch(ReadSlot slot, int block) {
    context.stats().checksumMismatches.increment();
    slot.noteAttempt(block);
    forget(slot, block);
    repeat(
        slot.peer,
        block,
        TcpReason.CHECKSUM,
        new IOException(
            "the checksum of a block of " + slot.peer.output(block) + " did not match"));
  }

  /** The descriptors of the peer's blocks could not be read. */
  void after(PeerBlocks peer, DescriptorReader.ReadsFailedException why) {
    for (int culprit : why.culprits()) {
      context.cache().forget(peer.peer().endpoint().bootNonce(), peer.output(culprit));
      left.drop(peer, culprit, why.failure().tcpReason(), why);
    }
    afterRefusal(peer, why.failure().breakage());
  }

  /** There is no connection to the peer, or it has broken. */
  void afterRefusal(PeerBlocks peer, NoConnectionException refusal) {
    peer.failedConnects++;
    if (peer.failedConnects >= MAX_FAILED_CONNECTS || !refusal.failure().isWorthReconnecting()) {
      leaveAll(peer, refusal.failure().tcpReason(), refusal);
    }
  }

  /** Has all blocks of the peer that are not under way served by the node service of its host, or leaves them. */
  void leaveAll(PeerBlocks peer, TcpReason reason, Throwable cause) {
    if (!services.mayServe(peer, reason, cause)) {
      left.addAll(peer, reason, cause);
    }
  }

  /** Has a block read a second time, or leaves it if that has been done. */
  private void repeat(PeerBlocks peer, int block, TcpReason reason, IOException cause) {
    if (peer.repeat(block)) {
      context.stats().retries.increment();
      again.accept(peer);
    } else {
      leave(peer, block, reason, cause);
    }
  }

  private void leave(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {
    if (services.mayServe(peer, reason, cause)) {
      peer.putBack(block);
      again.accept(peer);
    } else {
      left.add(peer, block, reason, cause);
    }
  }

  private void forget(ReadSlot slot, int block) {
    context.cache().forget(slot.from.endpoint().bootNonce(), slot.peer.output(block));
  }
}
