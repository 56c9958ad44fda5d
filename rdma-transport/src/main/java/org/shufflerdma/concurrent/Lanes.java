/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shares workers among peers: of one peer no more than so many steps run at a time, so that one
 * which keeps them waiting leaves the others theirs. Every step is run: while the workers shut down,
 * by its caller; after one that throws, too. Any thread may call.
 *
 * @param <P> what tells peers apart
 */
public final class Lanes<P> {
  private static final Logger LOG = LoggerFactory.getLogger(Lanes.class);

  private final Executor workers;
  private final int stepsPerPeer;

  /** Of the peers that have any step running. Guarded by this. */
  private final Map<P, Lane> lanes = new HashMap<>();

  /** None of which is in use. The workers remain their owner's. */
  public Lanes(Executor workers, int stepsPerPeer) {
    this.workers = workers;
    this.stepsPerPeer = stepsPerPeer;
  }

  private static final class Lane {
    final Queue<Runnable> waiting = new ArrayDeque<>();
    int running;
  }

  /** Has the step run when it is its turn. Returns at once, but for workers that shut down. */
  public void execute(P peer, Runnable step) {
    synchronized (this) {
      Lane lane = lanes.computeIfAbsent(peer, key -> new Lane());
      if (lane.running == stepsPerPeer) {
        lane.waiting.add(step);
        return;
      }
      lane.running++;
    }
    if (!handOver(peer, step)) {
      run(peer, step);
    }
  }

  private boolean handOver(P peer, Runnable step) {
    try {
      workers.execute(() -> run(peer, step));
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  /** The peer's next step goes to the end of the workers' queue: others had to wait as well. */
  private void run(P peer, Runnable first) {
    Runnable step = first;
    while (step != null) {
      try {
        step.run();
      } catch (RuntimeException | Error e) { // the peer's other steps need this one's place
        LOG.error("A step of {} stumbled", peer, e);
      }
      step = next(peer);
      if (step != null && handOver(peer, step)) {
        return;
      }
    }
  }

  private synchronized @Nullable Runnable next(P peer) {
    Lane lane = lanes.get(peer);
    if (lane == null) {
      throw new IllegalStateException("a step of " + peer + " ran without a lane");
    }
    Runnable step = lane.waiting.poll();
    if (step == null && --lane.running == 0) {
      lanes.remove(peer);
    }
    return step;
  }
}
