/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Test;

class PerPeerExecutorTest {
  private static final String PEER = "of a test";

  private final Queue<Runnable> handedOver = new ArrayDeque<>();
  private final List<String> ran = new ArrayList<>();
  private boolean shutDown;

  private final PerPeerExecutor<String> lanes = new PerPeerExecutor<>(
      step -> {
        if (shutDown) {
          throw new RejectedExecutionException("of a test");
        }
        handedOver.add(step);
      },
      1);

  private void work() {
    for (Runnable step = handedOver.poll(); step != null; step = handedOver.poll()) {
      step.run();
    }
  }

  private void stumble() {
    ran.add("one that throws");
    throw new IllegalStateException("of a test");
  }

  @Test
  void aStepThatThrowsTakesNeitherTheNextNorItsPlaceWithIt() {
    lanes.execute(PEER, this::stumble);
    lanes.execute(PEER, () -> ran.add("next"));
    work();
    lanes.execute(PEER, () -> ran.add("later"));
    work();
    assertThat(ran).containsExactly("one that throws", "next", "later");
  }

  @Test
  void aFailureThatCannotBeLoggedDoesNotEither() {
    FailingLog log = new FailingLog(PerPeerExecutor.class, Level.ERROR);
    try {
      lanes.execute(PEER, this::stumble);
      lanes.execute(PEER, () -> ran.add("next"));
      work();
    } finally {
      log.restore();
    }
    assertThat(ran).containsExactly("one that throws", "next");
  }

  @Test
  void whileTheWorkersShutDownEveryStepIsRunByItsCaller() {
    lanes.execute(PEER, () -> ran.add("handed over"));
    lanes.execute(PEER, () -> ran.add("waiting"));
    shutDown = true;
    work();
    lanes.execute(PEER, () -> ran.add("late"));
    assertThat(ran).containsExactly("handed over", "waiting", "late");
  }
}
