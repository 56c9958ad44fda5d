/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Receives a block that is too large for memory, piece by piece and in order. The bytes are valid
 * only after {@link FetchListener#onStreamed}; after a failure they must be thrown away.
 */
public interface BlockSink {
  /** Writes one piece. The view is valid only during the call, which may block. */
  void write(ByteBuffer piece) throws IOException;
}
