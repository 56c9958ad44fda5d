/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Takes a block too large for memory piece by piece, in order. What it got counts only after {@link
 * FetchListener#onStreamed}; after a failure it is to be thrown away.
 */
public interface BlockSink {
  /** The view is valid during the call alone. The call may block. */
  void write(ByteBuffer piece) throws IOException;
}
