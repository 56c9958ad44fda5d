/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.TestDevice;

@Timeout(60)
class BufferPoolTest {
  private static final int SLAB = 64 << 10;
  private static final Deadline NOW = Deadline.afterMs(0);

  private RdmaTransport transport;
  private BufferPool pool;
  private long regionsBefore;

  @BeforeEach
  void open() throws IOException {
    transport = TestTransports.open("pool");
    regionsBefore = TestDevice.live().regions();
    pool =
        new BufferPool(transport.protectionDomain(), new PoolSettings(4 * SLAB, SLAB, false, true));
  }

  @AfterEach
  void everythingIsGivenBack() throws IOException {
    pool.close();
    assertThat(TestDevice.live().regions()).isEqualTo(regionsBefore);
    assertThat(pool.usage().registeredBytes()).isZero();
    transport.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void sinksAreWrittenByTheDeviceAloneInTheOrderThatIsAskedFor(boolean relaxed) throws Exception {
    PoolSettings settings = new PoolSettings(SLAB, SLAB, false, relaxed);
    Slab slab = Slab.open(transport.protectionDomain(), SLAB, SLAB, settings);
    assertThat(slab.access())
        .isEqualTo(relaxed ? Access.LOCAL_WRITE | Access.RELAXED_ORDERING : Access.LOCAL_WRITE);
    slab.deregister();
    slab.unmap();
  }

  @Test
  void buffersOfOneClassShareARegistration() throws Exception {
    List<RegisteredBuffer> buffers = new ArrayList<>();
    for (int i = 0; i < SLAB / 4096; i++) {
      buffers.add(pool.acquire(4000, NOW));
    }
    assertThat(TestDevice.live().regions()).isEqualTo(regionsBefore + 1);
    assertThat(buffers.stream().map(RegisteredBuffer::address).distinct()).hasSize(buffers.size());
    buffers.forEach(RegisteredBuffer::release);
    assertThat(pool.usage().leasedBuffers()).isZero();
  }

  @Test
  void slabsOfAClassGrowWithWhatIsAskedOfIt() throws Exception {
    PoolSettings settings = new PoolSettings(256 << 20, 16 << 20, false, true);
    try (BufferPool growing = new BufferPool(transport.protectionDomain(), settings)) {
      List<RegisteredBuffer> buffers = new ArrayList<>();
      for (int slabMiB : new int[] {2, 4, 8, 16, 16}) {
        long before = growing.usage().registeredBytes();
        for (int i = 0; i < 2 * slabMiB; i++) {
          buffers.add(growing.acquire(512 << 10, NOW));
        }
        assertThat(growing.usage().registeredBytes() - before).isEqualTo((long) slabMiB << 20);
      }
      long before = growing.usage().registeredBytes();
      buffers.add(growing.acquire((4 << 20) + 1, NOW));
      buffers.add(growing.acquire((4 << 20) + 1, NOW));
      assertThat(growing.usage().registeredBytes() - before).isEqualTo(16 << 20);
      buffers.forEach(RegisteredBuffer::release);
    }
  }

  @Test
  void threadsThatBeginTogetherShareASlab() throws Exception {
    int threads = 16;
    for (int round = 0; round < 10; round++) {
      CyclicBarrier start = new CyclicBarrier(threads);
      ExecutorService tasks = Executors.newFixedThreadPool(threads);
      List<Future<RegisteredBuffer>> buffers = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        buffers.add(tasks.submit(() -> {
          start.await();
          return pool.acquire(SLAB / threads, Deadline.afterMs(10_000));
        }));
      }
      for (Future<RegisteredBuffer> buffer : buffers) {
        buffer.get(20, TimeUnit.SECONDS);
      }
      assertThat(pool.usage().registeredBytes()).isEqualTo(SLAB);
      for (Future<RegisteredBuffer> buffer : buffers) {
        buffer.get().release();
      }
      tasks.shutdown();
      pool.trim(0);
      assertThat(pool.usage().registeredBytes()).isZero();
    }
  }

  @Test
  void aPostedBufferWithoutUsersStaysOutUntilTheDeviceIsDone() throws Exception {
    RegisteredBuffer buffer = pool.acquire(4096, NOW);
    buffer.posted();
    buffer.posted();
    buffer.release();
    assertThat(pool.usage().zombieBuffers()).isEqualTo(1);
    buffer.completed();
    assertThat(pool.usage().leasedBuffers()).isEqualTo(1);
    buffer.completed();
    assertThat(pool.usage().leasedBuffers()).isZero();
    assertThat(pool.usage().zombieBytes()).isZero();
  }

  @Test
  void slicesHoldTheirBuffer() throws Exception {
    RegisteredBuffer buffer = pool.acquire(4096, NOW);
    RegisteredSlice first = buffer.slice(0, 100);
    RegisteredSlice second = buffer.slice(100, 100);
    buffer.release();
    first.retain();
    first.release();
    first.release();
    assertThat(pool.usage().leasedBuffers()).isEqualTo(1);
    second.release();
    assertThat(pool.usage().leasedBuffers()).isZero();
  }

  @Test
  void misuseIsFound() throws Exception {
    RegisteredBuffer buffer = pool.acquire(4096, NOW);
    RegisteredSlice slice = buffer.slice(0, 10);
    assertThatThrownBy(() -> buffer.slice(4090, 10)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> slice.nioBuffer(5, 6)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(buffer::completed).isInstanceOf(IllegalStateException.class);
    slice.release();
    assertThatThrownBy(slice::release).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(slice::nioBuffer).isInstanceOf(IllegalStateException.class);
    buffer.release();
    assertThatThrownBy(buffer::release).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(buffer::retain).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> buffer.nioBuffer(0, 1)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void theBudgetIsKeptAndAWaiterGetsWhatComesBack() throws Exception {
    List<RegisteredBuffer> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(pool.acquire(SLAB, NOW));
    }
    assertThat(pool.usage().registeredBytes()).isEqualTo(4 * SLAB);
    assertThatThrownBy(() -> pool.acquire(1, Deadline.afterMs(20)))
        .isInstanceOf(PoolExhaustedException.class)
        .hasMessageContaining("budget");
    CompletableFuture<RegisteredBuffer> waiter = CompletableFuture.supplyAsync(() -> {
      try {
        return pool.acquire(100, Deadline.afterMs(50_000));
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    all.remove(0).release();
    waiter.get(50, TimeUnit.SECONDS).release();
    all.forEach(RegisteredBuffer::release);
    assertThat(pool.usage().exhaustions()).isEqualTo(1);
  }

  /** Returns when a thread of its own waits for a buffer. */
  private static Future<RegisteredBuffer> waiter(BufferPool pool, long lengthBytes)
      throws Exception {
    FutureTask<RegisteredBuffer> task =
        new FutureTask<>(() -> pool.acquire(lengthBytes, Deadline.afterMs(50_000)));
    Thread thread = new Thread(task);
    thread.start();
    Await.until("it waits", 20_000, () -> thread.getState() == Thread.State.TIMED_WAITING);
    return task;
  }

  @Test
  void whatComesBackIsForWhoeverHasWaitedLongest() throws Exception {
    List<RegisteredBuffer> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(pool.acquire(SLAB, NOW));
    }
    Future<RegisteredBuffer> first = waiter(pool, SLAB);
    Future<RegisteredBuffer> second = waiter(pool, SLAB);
    all.remove(0).release();
    assertThat(pool.tryAcquire(SLAB)).isNull();
    assertThatThrownBy(() -> pool.acquire(SLAB, Deadline.afterMs(20)))
        .isInstanceOf(PoolExhaustedException.class);
    RegisteredBuffer buffer = first.get(50, TimeUnit.SECONDS);
    assertThat(second.isDone()).isFalse();
    buffer.release();
    second.get(50, TimeUnit.SECONDS).release();
    all.forEach(RegisteredBuffer::release);
  }

  /** As in a node service, where each job has a pool. */
  @Test
  void roomThatAnotherPoolHasGivenBackIsFoundWithoutASignal() throws Exception {
    AtomicBoolean hasRoom = new AtomicBoolean();
    SlabMemory shared = new SlabMemory() {
      @Override
      public NativeMemory allocate(long bytes, boolean hugePages) throws IOException {
        return OF_PROCESS.allocate(bytes, hugePages);
      }

      @Override
      public boolean tryTake(long bytes) {
        return hasRoom.get();
      }

      @Override
      public long excessWith(long bytes) {
        return hasRoom.get() ? 0 : bytes;
      }

      @Override
      public void giveBack(long bytes) {}
    };
    PoolSettings settings = new PoolSettings(4 * SLAB, SLAB, false, true, 60_000, shared);
    try (BufferPool sharing = new BufferPool(transport.protectionDomain(), settings)) {
      Future<RegisteredBuffer> waiter = waiter(sharing, SLAB);
      hasRoom.set(true);
      waiter.get(25, TimeUnit.SECONDS).release();
    }
  }

  /** Each buffer that comes back is leased again, so that no slab would ever be idle. */
  @Test
  void aBusyPoolGivesWayByOneSlabAtATime() throws Exception {
    List<RegisteredBuffer> leased = new ArrayList<>();
    for (int i = 0; i < 4 * SLAB / 4096; i++) {
      leased.add(pool.acquire(4096, NOW));
    }
    for (RegisteredBuffer buffer : List.copyOf(leased)) {
      pool.giveWay();
      leased.remove(buffer);
      buffer.release();
      RegisteredBuffer again = pool.tryAcquire(4096);
      if (again != null) {
        leased.add(again);
      }
    }
    pool.giveWay(); // the slab that leaves was the last one, whose buffers come back last
    assertThat(pool.usage().registeredBytes()).isEqualTo(3 * SLAB);
    leased.forEach(RegisteredBuffer::release);
  }

  @Test
  void whoeverWaitsForALargeBufferKeepsNoSmallOneFromOthers() throws Exception {
    List<RegisteredBuffer> all = new ArrayList<>();
    for (int lengthBytes : List.of(SLAB, SLAB, SLAB, 4 << 10)) {
      all.add(pool.acquire(lengthBytes, NOW));
    }
    Future<RegisteredBuffer> large = waiter(pool, SLAB);
    RegisteredBuffer small = pool.acquire(4 << 10, NOW);
    small.release();
    all.add(pool.acquire(4 << 10, Deadline.afterMs(50_000)));
    all.remove(0).release();
    large.get(50, TimeUnit.SECONDS).release();
    all.forEach(RegisteredBuffer::release);
  }

  @Test
  void aClassWithoutASlabTakesTheSmallestLargerBufferThatIsFree() throws Exception {
    List<RegisteredBuffer> held = new ArrayList<>();
    for (int lengthBytes : List.of(4 << 10, 20 << 10, 10 << 10, 32 << 10)) {
      held.add(pool.acquire(lengthBytes, NOW));
    }
    long leasedBytes = pool.usage().leasedBytes();
    RegisteredBuffer larger = pool.acquire(5 << 10, NOW);
    assertThat(larger.capacityBytes()).isEqualTo(10 << 10);
    assertThat(pool.usage().leasedBytes()).isEqualTo(leasedBytes + (10 << 10));
    larger.release();
    assertThat(pool.usage().leasedBytes()).isEqualTo(leasedBytes);
    for (int i = 1; i < SLAB / (10 << 10); i++) {
      held.add(pool.acquire(10 << 10, NOW));
    }
    RegisteredBuffer evenLarger = pool.acquire(5 << 10, NOW);
    assertThat(evenLarger.capacityBytes()).isEqualTo(20 << 10);
    held.add(evenLarger);
    assertThat(pool.tryAcquire(40 << 10)).as("a buffer smaller than asked for").isNull();
    held.forEach(RegisteredBuffer::release);
    assertThat(pool.usage().leasedBytes()).isZero();
    assertThat(pool.usage().exhaustions()).isZero();
  }

  @Test
  void aBufferOfTheNextClassSparesARegistrationAndOneOfAMuchLargerDoesNot() throws Exception {
    List<RegisteredBuffer> held = List.of(pool.acquire(SLAB, NOW), pool.acquire(SLAB, NOW));
    pool.acquire(5 << 10, NOW).release();
    pool.acquire(32 << 10, NOW).release();
    RegisteredBuffer ofTheNext = pool.acquire(4 << 10, NOW);
    assertThat(ofTheNext.capacityBytes()).isEqualTo(5 << 10);
    RegisteredBuffer ofItsOwn = pool.acquire(8 << 10, NOW);
    assertThat(ofItsOwn.capacityBytes()).isEqualTo(8 << 10);
    ofTheNext.release();
    ofItsOwn.release();
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void aRequestBeyondTheBudgetFailsAtOnce() {
    assertThat(pool.canHold(4 * SLAB + 1)).isFalse();
    assertThatThrownBy(() -> pool.acquire(4 * SLAB + 1, Deadline.afterMs(50_000)))
        .isInstanceOf(PoolExhaustedException.class);
  }

  @Test
  void idleSlabsAreGivenUp() throws Exception {
    pool.acquire(4096, NOW).release();
    RegisteredBuffer held = pool.acquire(8192, NOW);
    pool.trim(0);
    assertThat(pool.usage().registeredBytes()).isEqualTo(SLAB);
    held.release();
    pool.trim();
    assertThat(pool.usage().registeredBytes()).isEqualTo(SLAB);
  }

  @Test
  void theSettingsSayHowLongIdleSlabsAreKept() throws Exception {
    PoolSettings settings = new PoolSettings(4 * SLAB, SLAB, false, true, 0, SlabMemory.OF_PROCESS);
    try (BufferPool impatient = new BufferPool(transport.protectionDomain(), settings)) {
      impatient.acquire(4096, NOW).release();
      impatient.trim();
      assertThat(impatient.usage().registeredBytes()).isZero();
    }
  }

  @Test
  void idleSlabsAreKeptWhereTheirBytesWouldNotSuffice() throws Exception {
    List<RegisteredBuffer> held = List.of(pool.acquire(SLAB, NOW), pool.acquire(SLAB, NOW));
    RegisteredBuffer third = pool.acquire(SLAB, NOW);
    pool.acquire(4096, NOW).release();
    assertThatThrownBy(() -> pool.acquire(2 * SLAB, Deadline.afterMs(20)))
        .isInstanceOf(PoolExhaustedException.class);
    assertThat(pool.usage().registeredBytes()).isEqualTo(4 * SLAB);
    third.release();
    pool.acquire(2 * SLAB, NOW).release();
    assertThat(pool.usage().registeredBytes()).isEqualTo(4 * SLAB);
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void aViewOutlivesTheClosedPoolUntilItsRelease() throws Exception {
    RegisteredBuffer buffer = pool.acquire(4096, NOW);
    buffer.nioBuffer(0, 8).putLong(0, 42);
    pool.close();
    assertThat(TestDevice.live().regions()).isEqualTo(regionsBefore);
    assertThat(buffer.nioBuffer(0, 8).getLong(0)).isEqualTo(42);
    buffer.release();
    assertThatThrownBy(() -> pool.acquire(1, NOW)).isInstanceOf(PoolExhaustedException.class);
  }

  @Test
  void noTwoLeasesShareAByte() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> futures = new ArrayList<>();
      for (long mark = 1; mark <= 4; mark++) {
        long thread = mark;
        futures.add(threads.submit(() -> leaseAndCheck(thread)));
      }
      for (Future<?> future : futures) {
        future.get();
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(pool.usage().leasedBuffers()).isZero();
  }

  private Void leaseAndCheck(long mark) throws Exception {
    Random random = new Random(mark);
    for (int i = 0; i < 5_000; i++) {
      int length = 16 + random.nextInt(SLAB / 2 - 16);
      RegisteredBuffer buffer = pool.acquire(length, Deadline.afterMs(50_000));
      buffer.nioBuffer(0, length).putLong(0, mark).putLong(length - 8, mark);
      assertThat(buffer.nioBuffer(0, length).getLong(0)).isEqualTo(mark);
      assertThat(buffer.nioBuffer(0, length).getLong(length - 8)).isEqualTo(mark);
      buffer.release();
    }
    return null;
  }
}
