/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.TaskContext;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.client.OutputLocations;
import org.shufflerdma.client.ShuffleBlockName;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the executor of a map output by what the driver says of all executors. An output is then asked of its executor, as no map
 * status says where in its memory it is. Any thread may call.
 */
public final class AskedLocations implements OutputLocations {
  private static final Logger LOG = LoggerFactory.getLogger(AskedLocations.class);

  /** More than any shuffle has. The executor that has the output knows how many there are. */
  private static final int UNKNOWN_PARTITIONS = Integer.MAX_VALUE;

  /** For which tasks wait for an answer of the driver, counted from the question; their blocks come by TCP then. */
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(2);

  private static final long KILL_CHECK_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The driver is not asked for an executor that it has not known for so long, and then for twice as long, up to a minute. */
  private static final long FIRST_REST_NS = TimeUnit.SECONDS.toNanos(1);

  private static final long LAST_REST_NS = TimeUnit.SECONDS.toNanos(60);

  /** An executor of which the driver did not know, or did not say, until when it is not asked again. */
  private record Unknown(long sinceNs, long restNs) {
    boolean isOver() {
      return System.nanoTime() - sinceNs >= restNs;
    }
  }

  /** Sends a message to the driver's part of the plugin and waits for the answer. */
  @FunctionalInterface
  public interface Driver {
    Object ask(Serializable message) throws Exception;
  }

  private final Driver driver;
  private final Map<String, PeerId> peers = new ConcurrentHashMap<>();
  private final Map<String, Unknown> unknown = new ConcurrentHashMap<>();

  // Guarded by this.
  private CompletableFuture<Boolean> asked = CompletableFuture.completedFuture(true);
  private long askedNs;
  private boolean hasLooked;
  private long lookingSinceNs;

  public AskedLocations(Driver driver) {
    this.driver = driver;
  }

  /** Tells the driver the endpoint of this executor. */
  public static void announce(Driver driver, String executorId, PublishedEndpoint endpoint)
      throws Exception {
    driver.ask(Endpoints.announcement(executorId, endpoint.toText()));
  }

  @Override
  public @Nullable MapOutputLocation locationOf(ShuffleBlockName block, String executorId) {
    PeerId peer = peerOf(executorId);
    return peer == null
        ? null
        : new MapOutputLocation(
            peer, DescriptorRef.unregistered(block.shuffleId(), block.mapId(), UNKNOWN_PARTITIONS));
  }

  @Override
  public TcpReason absenceOf(ShuffleBlockName block, String executorId) {
    return TcpReason.NO_LOCATION;
  }

  private @Nullable PeerId peerOf(String executorId) {
    PeerId known = peers.get(executorId);
    if (known != null) {
      return known;
    }
    Unknown before = unknown.get(executorId);
    if (before != null && !before.isOver()) {
      return null;
    }
    long lookUntilNs = lookingUntilNs();
    awaitAnswer();
    known = peers.get(executorId);
    while (known == null && before == null && lookUntilNs - System.nanoTime() > 0 && pause()) {
      awaitAnswer();
      known = peers.get(executorId);
    }
    if (known == null) {
      long restNs = before == null ? FIRST_REST_NS : Math.min(2 * before.restNs, LAST_REST_NS);
      unknown.put(executorId, new Unknown(System.nanoTime(), restNs));
    } else {
      unknown.remove(executorId);
    }
    return known;
  }

  /**
   * Until when the driver is asked again for executors that may just have started. All of them together keep tasks waiting for as long as
   * patience lasts, once in a minute.
   */
  private synchronized long lookingUntilNs() {
    long now = System.nanoTime();
    if (!hasLooked || now - lookingSinceNs > LAST_REST_NS) {
      hasLooked = true;
      lookingSinceNs = now;
    }
    return lookingSinceNs + PATIENCE_NS;
  }

  /** False if the thread has been interrupted; a task that is killed ends its wait. */
  private static boolean pause() {
    try {
      TimeUnit.NANOSECONDS.sleep(KILL_CHECK_NS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.killTaskIfInterrupted();
    }
    return true;
  }

  /** Waits until the driver has answered, or patience is at its end; a task that is killed ends its wait. */
  private void awaitAnswer() {
    CompletableFuture<Boolean> answer;
    long endNs;
    synchronized (this) {
      answer = ask();
      endNs = askedNs + PATIENCE_NS;
    }
    TaskContext task = TaskContext.get();
    while (!answer.isDone() && endNs - System.nanoTime() > 0) {
      try {
        answer.get(Math.min(KILL_CHECK_NS, endNs - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        if (task != null) {
          task.killTaskIfInterrupted();
        }
      } catch (ExecutionException e) {
        LOG.debug("The driver does not say where the executors are", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** Guarded by this. Asks the driver, unless that is under way; all tasks share the answer. */
  private CompletableFuture<Boolean> ask() {
    if (asked.isDone()) {
      askedNs = System.nanoTime();
      CompletableFuture<Boolean> answer = new CompletableFuture<>();
      asked = answer;
      try {
        Workers.thread("shuffle-rdma-ask", () -> askDriver(answer)).start();
      } catch (OutOfMemoryError e) { // of a system that gives no more threads
        answer.completeExceptionally(e);
      }
    }
    return asked;
  }

  /** What is known stays known: files of an executor that has ended may be served by its host's node service. */
  private void askDriver(CompletableFuture<Boolean> answer) {
    try {
      peers.putAll(parse(driver.ask(Endpoints.question())));
      answer.complete(true);
    } catch (Throwable t) {
      answer.completeExceptionally(t);
    }
  }

  private static Map<String, PeerId> parse(Object answer) throws IOException {
    if (!(answer instanceof Map<?, ?> texts)) {
      throw new IOException("the driver answered " + answer);
    }
    Map<String, PeerId> peers = new HashMap<>();
    texts.forEach((id, text) -> PublishedEndpoint.ofText(String.valueOf(text))
        .ifPresent(at -> peers.put(
            String.valueOf(id),
            new PeerId(
                String.valueOf(id),
                new RdmaEndpoint(at.host(), at.port(), Nonce.ofHex(at.nonceHex()))))));
    return peers;
  }
}
