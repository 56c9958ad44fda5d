/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.List;
import org.shufflerdma.connection.ReadFailure;

/** A list of READs failed. The culprits are the blocks whose READ broke the connection, if any. */
final class ReadsFailedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final transient ReadFailure failure;
  private final transient List<PendingBlock> culprits;

  ReadsFailedException(ReadFailure failure, List<PendingBlock> culprits) {
    super(failure.toString(), failure.breakage());
    this.failure = failure;
    this.culprits = culprits;
  }

  ReadFailure failure() {
    return failure;
  }

  List<PendingBlock> culprits() {
    return culprits;
  }
}
