/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class CircuitBreakerTest {
  private final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 10);
  private final CircuitBreaker breaker = new CircuitBreaker(3, 60_000, nowNs::get);

  private void passMs(long ms) {
    nowNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(ms));
  }

  private void open() {
    breaker.failed();
    breaker.failed();
    assertThat(breaker.failed()).isTrue();
  }

  @Test
  void opensAtTheThirdFailureInARow() {
    assertThat(breaker.failed()).isFalse();
    assertThat(breaker.failed()).isFalse();
    assertThat(breaker.admits()).isTrue();
    assertThat(breaker.failed()).isTrue();
    assertThat(breaker.admits()).isFalse();
  }

  @Test
  void aSuccessStartsTheCountAnew() {
    breaker.failed();
    breaker.failed();
    breaker.succeeded();
    assertThat(breaker.failed()).isFalse();
    assertThat(breaker.admits()).isTrue();
  }

  @Test
  void admitsOneProbeAfterItsTime() {
    open();
    passMs(59_999);
    assertThat(breaker.admits()).isFalse();
    passMs(1);
    assertThat(breaker.admits()).isTrue();
    assertThat(breaker.admits()).isFalse();
  }

  @Test
  void aFailedProbeOpensItAgain() {
    open();
    passMs(60_000);
    breaker.admits();
    assertThat(breaker.failed()).isTrue();
    assertThat(breaker.admits()).isFalse();
  }

  @Test
  void anUndecidedProbeIsFollowedByAnother() {
    open();
    passMs(60_000);
    breaker.admits();
    breaker.undecided();
    assertThat(breaker.admits()).isTrue();
    assertThat(breaker.admits()).isFalse();
    assertThat(breaker.failed()).isTrue();
    breaker.undecided();
    assertThat(breaker.admits()).isFalse();
  }

  @Test
  void aGoodProbeClosesIt() {
    open();
    passMs(60_000);
    breaker.admits();
    breaker.succeeded();
    assertThat(breaker.admits()).isTrue();
    assertThat(breaker.admits()).isTrue();
  }

  @Test
  void tripsAtOnce() {
    assertThat(breaker.trip()).isTrue();
    assertThat(breaker.trip()).isFalse();
    assertThat(breaker.admits()).isFalse();
  }
}
