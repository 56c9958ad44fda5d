/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.List;
import org.shufflerdma.connection.ReadFailure;

/** A list of READs of descriptors failed. The culprits are the blocks whose READ broke the connection, if any. */
final class ReadsFailedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final transient ReadFailure failure;
  private final transient List<Integer> culprits;

  /** @param culprits by their numbers in the peer's blocks */
  ReadsFailedException(ReadFailure failure, List<Integer> culprits) {
    super(failure.toString(), failure.breakage());
    this.failure = failure;
    this.culprits = culprits;
  }

  ReadFailure failure() {
    return failure;
  }

  List<Integer> culprits() {
    return culprits;
  }
}
