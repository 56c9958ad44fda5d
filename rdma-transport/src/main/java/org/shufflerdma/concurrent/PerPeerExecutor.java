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
 * Shares workers among peers: at most {@code stepsPerPeer} steps of one peer run at a time, so that
 * a peer that keeps its steps waiting leaves workers to the others. Every step is run, also after one
 * that throws; by its caller while the workers shut down, or if there is no memory to hand it over. Any
 * thread may call.
 *
 * @param <P> what tells peers apart
 */
public final class PerPeerExecutor<P> {
  private static final Logger LOG = LoggerFactory.getLogger(PerPeerExecutor.class);

  private final Executor workers;
  private final int stepsPerPeer;

  /** The peers that have a step running. Guarded by this. */
  private final Map<P, PeerQueue> queues = new HashMap<>();

  /** The workers remain their owner's. */
  public PerPeerExecutor(Executor workers, int stepsPerPeer) {
    this.workers = workers;
    this.stepsPerPeer = stepsPerPeer;
  }

  private static final class PeerQueue {
    final Queue<Runnable> waiting = new ArrayDeque<>();
    int running;
  }

  /** Runs the step when it is its turn. Returns at once unless the workers shut down. */
  public void execute(P peer, Runnable step) {
    synchronized (this) {
      PeerQueue queue = queues.computeIfAbsent(peer, key -> new PeerQueue());
      if (queue.running == stepsPerPeer) {
        queue.waiting.add(step);
        return;
      }
      queue.running++;
    }
    if (!handOver(peer, step)) {
      run(peer, step);
    }
  }

  private boolean handOver(P peer, Runnable step) {
    try {
      workers.execute(() -> run(peer, step));
      return true;
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      return false;
    }
  }

  /** The peer's next step goes to the end of the workers' queue: others had to wait as well. */
  private void run(P peer, Runnable first) {
    Runnable step = first;
    while (step != null) {
      try {
        step.run();
      } catch (Throwable t) { // the peer's other steps need this one's place
        report(peer, t);
      }
      step = next(peer);
      if (step != null && handOver(peer, step)) {
        return;
      }
    }
  }

  private void report(P peer, Throwable failure) {
    try {
      LOG.error("A step of {} failed", peer, failure);
    } catch (Throwable t) { // without memory, for example; nobody can be told
      failure.addSuppressed(t);
    }
  }

  private synchronized @Nullable Runnable next(P peer) {
    PeerQueue queue = queues.get(peer);
    if (queue == null) {
      throw new IllegalStateException("a step of " + peer + " ran without a queue");
    }
    Runnable step = queue.waiting.poll();
    if (step == null && --queue.running == 0) {
      queues.remove(peer);
    }
    return step;
  }
}
