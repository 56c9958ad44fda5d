/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.BlockRequest;
import org.shufflerdma.fetch.DescriptorRef;
import org.shufflerdma.fetch.FetchListener;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;

/**
 * Proves that a device does what the shuffle needs of it: a queue pair, a connection to its own
 * address, and a READ of a registered file that brings the file's bytes.
 */
public final class LoopbackCheck {
  private static final int FILE_BYTES = 64 << 10;

  /**
   * Before the block that is READ. Blocks begin anywhere in a page, and soft-RoCE of Linux 7.3 copies pages
   * on demand from their beginning (__rxe_odp_mr_copy in the kernel's rxe_odp.c).
   */
  private static final int HEAD_BYTES = 1001;

  private static final int TIMEOUT_S = 15;

  /** An id that no shuffle has: Spark's begin at 0. */
  private static final int SHUFFLE_ID = -1;

  private LoopbackCheck() {}

  /**
   * Runs the check, and throws with the reason where a device fails it.
   *
   * @param directory holds shuffle files; the device must be able to read files there
   */
  public static void run(
      RdmaTransport transport,
      MapOutputRegistry registry,
      BlockFetcher fetcher,
      String executorId,
      Path directory)
      throws IOException {
    byte[] bytes = new byte[FILE_BYTES];
    new Random().nextBytes(bytes);
    Path file = Files.createTempFile(directory, "shuffle-rdma-check", ".data");
    try {
      Files.write(file, bytes);
      long[] lengths = {HEAD_BYTES, FILE_BYTES - HEAD_BYTES};
      PublishedOutput output = registry.publish(new MapOutputFile(
          SHUFFLE_ID, 0, file, lengths, PartitionChecksums.compute(file, lengths)));
      try {
        byte[] read = read(new PeerId(executorId, transport.endpoint()), output, fetcher);
        if (!Arrays.equals(bytes, HEAD_BYTES, FILE_BYTES, read, 0, read.length)) {
          throw new IOException("a loopback READ of a file returned wrong bytes");
        }
      } finally {
        registry.retract(SHUFFLE_ID, output);
        fetcher.forgetShuffle(SHUFFLE_ID);
      }
    } catch (NotPublishedException e) {
      throw new IOException("a file cannot be registered: " + e.getMessage(), e);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private static byte[] read(PeerId self, PublishedOutput output, BlockFetcher fetcher)
      throws IOException {
    CompletableFuture<byte[]> arrival = new CompletableFuture<>();
    DescriptorRef descriptor = new DescriptorRef(
        output.descriptorAddress(), output.descriptorRkey(), output.generation(), SHUFFLE_ID, 0, 2);
    var token = fetcher.fetch(
        self, null, List.of(new BlockRequest(0, descriptor, 1, 2, null)), new Arrival(arrival));
    try {
      return arrival.get(TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IOException("a loopback READ failed: " + e.getCause(), e);
    } catch (TimeoutException e) {
      token.cancel();
      throw new IOException("a loopback READ took more than " + TIMEOUT_S + " s", e);
    } catch (InterruptedException e) {
      token.cancel();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted during a loopback READ", e);
    }
  }

  private record Arrival(CompletableFuture<byte[]> arrival) implements FetchListener {
    @Override
    public void onSuccess(long tag, RegisteredSlice block) {
      byte[] bytes = new byte[Math.toIntExact(block.lengthBytes())];
      block.nioBuffer().get(bytes);
      block.release();
      arrival.complete(bytes);
    }

    @Override
    public void onStreamed(long tag, long lengthBytes) {
      arrival.completeExceptionally(new IllegalStateException("no sink was given"));
    }

    @Override
    public void onFailure(long tag, TcpReason reason, Throwable cause) {
      arrival.completeExceptionally(cause);
    }
  }
}
