/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import org.shufflerdma.control.ProtocolException;

/**
 * The first sealed frame of a server: what a reader may ask for.
 *
 * <pre>
 *   | bytes of a loan (4) | requests (4) | lease (4) |
 * </pre>
 *
 * @param loanBytes that one request is lent at most
 * @param requests of one reader that may be under way at a time, from the request until the loan is returned
 * @param leaseMs after its reply for which the server keeps a loan that the reader does not return
 */
record StagingTerms(int loanBytes, int requests, int leaseMs) {
  static final int SIZE_BYTES = 12;
  static final int MAX_REQUESTS = 64;

  /** Less would be over before a READ could be posted. */
  static final int LEAST_LEASE_MS = 20;

  private static final int MAX_LOAN_BYTES = 1 << 30;

  ByteBuffer encode() {
    return ByteBuffer.allocate(SIZE_BYTES)
        .putInt(loanBytes)
        .putInt(requests)
        .putInt(leaseMs)
        .flip();
  }

  static StagingTerms decode(ByteBuffer in) throws ProtocolException {
    if (in.remaining() != SIZE_BYTES) {
      throw new ProtocolException("terms of " + in.remaining() + " bytes");
    }
    StagingTerms terms = new StagingTerms(in.getInt(), in.getInt(), in.getInt());
    if (terms.loanBytes() <= 0
        || terms.loanBytes() > MAX_LOAN_BYTES
        || terms.requests() <= 0
        || terms.requests() > MAX_REQUESTS
        || terms.leaseMs() < LEAST_LEASE_MS) {
      throw new ProtocolException("%d requests for loans of %d bytes and %d ms are granted"
          .formatted(terms.requests(), terms.loanBytes(), terms.leaseMs()));
    }
    return terms;
  }
}
