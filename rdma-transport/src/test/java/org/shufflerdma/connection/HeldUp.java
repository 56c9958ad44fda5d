/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A completion that is not handled: it holds up the poller, and with it everything behind. */
record HeldUp(CountDownLatch release) implements ReadCompletion {
  @Override
  public void succeeded() {
    try {
      assertThat(release.await(20, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void failed(ReadFailure failure) {}
}
