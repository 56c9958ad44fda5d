/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;

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

  private static final int TIMEOUT_MS = 15_000;
  private static final DirectFetch.Limits ONE_BLOCK = new DirectFetch.Limits(FILE_BYTES, 1, 1);

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
    PeerBlocks block = new PeerBlocks(self, null);
    block.add(
        new DescriptorRef(
            output.descriptorAddress(),
            output.descriptorRkey(),
            output.generation(),
            SHUFFLE_ID,
            0,
            2),
        1,
        2);
    Deadline deadline = Deadline.afterMs(TIMEOUT_MS);
    try (DirectFetch fetch =
        fetcher.direct(List.of(block), ONE_BLOCK, () -> requireInTime(deadline))) {
      if (!fetch.next()) {
        Throwable cause = fetch.left().get(0).cause();
        throw new IOException("a loopback READ failed: " + cause, cause);
      }
      byte[] bytes = new byte[Math.toIntExact(fetch.bytes().lengthBytes())];
      fetch.bytes().nioBuffer().get(bytes);
      return bytes;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted during a loopback READ", e);
    }
  }

  private static void requireInTime(Deadline deadline) {
    if (deadline.expired()) {
      throw new UncheckedIOException(
          new IOException("a loopback READ took more than " + TIMEOUT_MS + " ms"));
    }
  }
}
