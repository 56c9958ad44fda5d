/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The totals of the software device in this process. READs are counted at the initiator, by the
 * path that carried them: the file itself, process_vm_readv, or frames on the wire.
 */
public record SoftCounters(
    long pdLive,
    long pdEver,
    long mrLive,
    long mrEver,
    long cqLive,
    long cqEver,
    long qpLive,
    long qpEver,
    long sendWrPosted,
    long sendWrSignalled,
    long readsFile,
    long readBytesFile,
    long readsCma,
    long readBytesCma,
    long readsWire,
    long readBytesWire,
    long readsServedWire,
    long readBytesServedWire,
    long writes,
    long writeBytes,
    long sends,
    long sendBytes,
    long connections,
    long fallbacks) {
  static final int FIELDS = 24;

  static SoftCounters of(long[] v) {
    return new SoftCounters(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
        v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22], v[23]);
  }
}
