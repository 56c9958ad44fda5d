/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A pool, in a process of its own, whose device registers late, or deregisters late or not at all. */
@Timeout(60)
@OnSoftDevice("faults are asked of it")
class SlabEndTest {
  private static final int SLAB = 128 << 10;
  private static final String OF_SLABS = ",min_length=" + SLAB;

  private static String answer(String scene, String fault) throws Exception {
    try (Jvm jvm =
        Jvm.start(Map.of("SOFTVERBS_FAULT", fault + OF_SLABS), SlabEndTest.class, scene)) {
      return jvm.awaitLine("answer ");
    }
  }

  @Test
  void nobodyWaitsWhileASlabIsDeregistered() throws Exception {
    String calls = answer("deregisterLate", "dereg_mr:delay=3000");
    assertThat(Long.parseLong(calls)).as("calls in three seconds").isGreaterThan(10);
  }

  @Test
  void whatTheDeviceKeepsStaysMappedWhenItsLastBufferComesBack() throws Exception {
    assertThat(answer("keepMapped", "dereg_mr:errno=EBUSY")).isEqualTo("true");
  }

  @Test
  void aSlabThatAnotherThreadRegistersForLongIsNotWaitedForPastTheDeadline() throws Exception {
    assertThat(answer("waitWithDeadline", "reg_mr:delay=40000")).isEqualTo("before the other");
  }

  @Test
  void whoDoesNotWaitForABufferWaitsForNoSlabThatAnotherThreadRegistersForLong() throws Exception {
    assertThat(answer("tryOnly", "reg_mr:delay=40000")).isEqualTo("before the other");
  }

  public static void main(String[] arguments) throws Exception {
    RdmaTransport transport = TestTransports.open("pool");
    BufferPool pool =
        new BufferPool(transport.protectionDomain(), new PoolSettings(4 * SLAB, SLAB, false, true));
    System.out.println("answer "
        + switch (arguments[0]) {
          case "keepMapped" -> keepMapped(pool);
          case "deregisterLate" -> callsWhileDeregistering(pool);
          case "waitWithDeadline" ->
            besideALateOne(pool, () -> pool.acquire(4096, Deadline.afterMs(100)));
          default -> besideALateOne(pool, () -> pool.tryAcquire(4096));
        });
    System.out.flush();
    Runtime.getRuntime().halt(0); // the domain may have a region for good
  }

  private static long callsWhileDeregistering(BufferPool pool) throws Exception {
    pool.acquire(4096, Deadline.afterMs(0)).release();
    AtomicLong calls = new AtomicLong();
    Thread caller = new Thread(() -> {
      while (true) {
        pool.usage();
        calls.incrementAndGet();
        Thread.onSpinWait();
      }
    });
    caller.setDaemon(true);
    caller.start();
    Await.until("the other thread calls", 20_000, () -> calls.get() > 0);
    long before = calls.get();
    pool.trim(0);
    return calls.get() - before;
  }

  /** The device is late with the first slab alone. */
  private static String besideALateOne(BufferPool pool, Callable<?> call) throws Exception {
    FutureTask<RegisteredBuffer> late =
        new FutureTask<>(() -> pool.acquire(4096, Deadline.afterMs(0)));
    Thread thread = new Thread(late);
    thread.setDaemon(true);
    thread.start();
    Await.until("memory is registered", 20_000, () -> pool.usage().registeredBytes() > 0);
    boolean isLeased = call.call() != null;
    return isLeased && !late.isDone() ? "before the other" : "after the other";
  }

  private static boolean keepMapped(BufferPool pool) throws Exception {
    RegisteredBuffer buffer = pool.acquire(4096, Deadline.afterMs(0));
    long address = buffer.address();
    pool.close();
    buffer.release();
    return Files.readAllLines(Path.of("/proc/self/maps")).stream()
        .map(line -> line.substring(0, line.indexOf(' ')).split("-"))
        .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= address
            && address < Long.parseUnsignedLong(range[1], 16));
  }
}
