/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.client.OutputLocations;
import org.shufflerdma.client.ShuffleBlockName;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.DescriptorRef;
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

  /** More than any shuffle has; how many there are, the executor knows that has the output. */
  private static final int UNKNOWN_PARTITIONS = Integer.MAX_VALUE;

  /** For which a task waits for the driver; its blocks come by TCP then. */
  private static final long PATIENCE_MS = 2_000;

  /** The driver is asked again for an executor that it has not known no sooner than this. */
  private static final long REST_NS = TimeUnit.SECONDS.toNanos(1);

  /** Sends a message to the driver's part of the plugin and waits for the answer. */
  @FunctionalInterface
  public interface Driver {
    Object ask(Serializable message) throws Exception;
  }

  private final Driver driver;
  private volatile Map<String, PeerId> peers = Map.of();

  // Guarded by this.
  private CompletableFuture<Map<String, PeerId>> asked =
      CompletableFuture.completedFuture(Map.of());
  private long askedNs = System.nanoTime() - REST_NS;

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
    try {
      return ask().get(PATIENCE_MS, TimeUnit.MILLISECONDS).get(executorId);
    } catch (TimeoutException e) {
      return null;
    } catch (ExecutionException e) {
      LOG.debug("The driver does not say where the executors are", e);
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  /** Asks the driver, unless that is under way or has just been done; all tasks share the answer. */
  private synchronized CompletableFuture<Map<String, PeerId>> ask() {
    if (asked.isDone() && System.nanoTime() - askedNs >= REST_NS) {
      askedNs = System.nanoTime();
      CompletableFuture<Map<String, PeerId>> answer = new CompletableFuture<>();
      asked = answer;
      try {
        Workers.thread("shuffle-rdma-ask", () -> askDriver(answer)).start();
      } catch (OutOfMemoryError e) { // of a system that gives no more threads
        answer.completeExceptionally(e);
      }
    }
    return asked;
  }

  private void askDriver(CompletableFuture<Map<String, PeerId>> answer) {
    try {
      Map<String, PeerId> all = parse(driver.ask(Endpoints.question()));
      peers = all;
      answer.complete(all);
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
    return Map.copyOf(peers);
  }
}
