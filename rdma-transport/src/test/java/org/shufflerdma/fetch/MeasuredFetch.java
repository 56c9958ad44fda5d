/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.SoftCounters;

/**
 * A program that reads blocks of small map outputs directly and prints what that took. Its JVM has no
 * optimizing compiler, which would leave out some of the objects sooner or later, so that its figures
 * are the same in each run.
 */
final class MeasuredFetch extends FetcherScene {
  static final int MAPS = 64;
  static final int PARTITIONS = 64;
  static final int TASKS = 8;
  private static final int BLOCK_BYTES = 1024;

  /** Passes after which all code that a pass runs has been linked, and the pool has its buffers. */
  private static final int WARM_UP = 5;

  private static final int PASSES = 20;
  private static final int MOST_TRIES = 1_000;
  private static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private long blocksRead;
  private Work tasks = Work.NONE;

  /** What tasks read, in this order. */
  enum Scene {
    /** The blocks of several tasks, one after the other, the first of which knows no descriptor. */
    FIRST_READS,
    /** Blocks that are not next to each other, so that each takes a READ of its own. */
    APART,
    /** All blocks of each map output. */
    NEIGHBOURS,
    /** Two tasks side by side that read what one reads in {@link #APART}. */
    SIDE_BY_SIDE
  }

  /** What some threads have done: bytes of objects that they made, and their CPU time. */
  record Work(long bytes, long cpuNs) {
    private static final Work NONE = new Work(0, 0);

    private Work minus(Work earlier) {
      return new Work(bytes - earlier.bytes, cpuNs - earlier.cpuNs);
    }

    private Work plus(Work other) {
      return new Work(bytes + other.bytes, cpuNs + other.cpuNs);
    }
  }

  /** What tasks took to read blocks, in their own threads and in those that they share. */
  record Cost(
      long blocks,
      long reads,
      long lists,
      long descriptors,
      long nativeCalls,
      Work tasks,
      Work poller,
      Work workers) {
    private static Cost parse(String line) {
      long[] v = Arrays.stream(line.split(" ")).mapToLong(Long::parseLong).toArray();
      return new Cost(
          v[0],
          v[1],
          v[2],
          v[3],
          v[4],
          new Work(v[5], v[6]),
          new Work(v[7], v[8]),
          new Work(v[9], v[10]));
    }

    private String line() {
      return "%d %d %d %d %d %d %d %d %d %d %d"
          .formatted(
              blocks,
              reads,
              lists,
              descriptors,
              nativeCalls,
              tasks.bytes,
              tasks.cpuNs,
              poller.bytes,
              poller.cpuNs,
              workers.bytes,
              workers.cpuNs);
    }

    double taskBytesOfBlock() {
      return (double) tasks.bytes / blocks;
    }

    double nativeCallsOfList() {
      return (double) nativeCalls / lists;
    }

    double pollerBytesOfList() {
      return (double) poller.bytes / lists;
    }

    @Override
    public String toString() {
      return ("%d blocks, %d READs, %d lists, %d descriptors, %.2f native calls a list; "
              + "objects: %.1f bytes a block by the task, %.1f a list by the poller; CPU a block: task %d ns, poller %d ns, workers %d ns")
          .formatted(
              blocks,
              reads,
              lists,
              descriptors,
              nativeCallsOfList(),
              taskBytesOfBlock(),
              pollerBytesOfList(),
              tasks.cpuNs / blocks,
              poller.cpuNs / blocks,
              workers.cpuNs / blocks);
    }
  }

  /** Runs the program. */
  static Map<Scene, Cost> costs(Path directory) throws IOException {
    Map<Scene, Cost> costs = new EnumMap<>(Scene.class);
    try (Jvm jvm = Jvm.start(Map.of(), MeasuredFetch.class, directory.toString())) {
      for (Scene scene : Scene.values()) {
        costs.put(scene, Cost.parse(jvm.awaitLine(scene + ": ")));
      }
    }
    return costs;
  }

  public static void main(String[] arguments) throws Exception {
    MeasuredFetch program = new MeasuredFetch();
    program.directory = Path.of(arguments[0]);
    program.open();
    program.publish();
    for (Scene scene : Scene.values()) {
      System.out.println(scene + ": " + program.measure(scene).line());
    }
    program.everythingIsGivenBack();
  }

  private void publish() throws IOException {
    long[] lengths = new long[PARTITIONS];
    Arrays.fill(lengths, BLOCK_BYTES);
    for (int map = 0; map < MAPS; map++) {
      publish(map, lengths);
    }
  }

  private Cost measure(Scene scene) throws Exception {
    return switch (scene) {
      case FIRST_READS -> costOf(this::firstReads);
      case APART -> costOfLastPasses(() -> read(apart()));
      case NEIGHBOURS -> costOfLastPasses(() -> read(neighbours()));
      case SIDE_BY_SIDE -> {
        connectTwice();
        yield costOfLastPasses(this::readSideBySide);
      }
    };
  }

  private interface Pass {
    void run() throws Exception;
  }

  private Cost costOfLastPasses(Pass pass) throws Exception {
    repeat(WARM_UP, pass);
    return costOf(() -> repeat(PASSES, pass));
  }

  private static void repeat(int times, Pass pass) throws Exception {
    for (int i = 0; i < times; i++) {
      pass.run();
    }
  }

  private Cost costOf(Pass pass) throws Exception {
    blocksRead = 0;
    tasks = Work.NONE;
    Work poller = workOf("rdma-reader-poller");
    Work workers = workOfOthers();
    SoftCounters start = TestTransports.verbs().softCounters();
    long descriptors = fetcher.stats().descriptorsRead.sum();
    long nativeCalls = reader.stats().nativeCalls.sum();
    pass.run();
    SoftCounters end = TestTransports.verbs().softCounters();
    return new Cost(
        blocksRead,
        end.sendWrPosted() - start.sendWrPosted(),
        end.sendWrSignalled() - start.sendWrSignalled(),
        fetcher.stats().descriptorsRead.sum() - descriptors,
        reader.stats().nativeCalls.sum() - nativeCalls,
        tasks,
        workOf("rdma-reader-poller").minus(poller),
        workOfOthers().minus(workers));
  }

  private Work workOfOthers() {
    return workOf("rdma-fetch-").plus(workOf("rdma-control-")).plus(workOf("rdma-reader-connect-"));
  }

  private Work workOf(String threadNames) {
    return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
        .filter(thread -> thread != null && thread.getThreadName().startsWith(threadNames))
        .map(thread -> workOf(thread.getThreadId()))
        .reduce(Work.NONE, Work::plus);
  }

  private Work workOf(long thread) {
    return new Work(threads.getThreadAllocatedBytes(thread), threads.getThreadCpuTime(thread));
  }

  private PeerBlocks apart() {
    PeerBlocks blocks = new PeerBlocks(peer, null);
    for (int partition = 0; partition < PARTITIONS; partition += 2) {
      addOfEachMap(blocks, partition);
    }
    return blocks;
  }

  private void addOfEachMap(PeerBlocks blocks, int partition) {
    outputs.forEach(output -> blocks.add(output.ref(), partition, partition + 1));
  }

  private PeerBlocks neighbours() {
    PeerBlocks blocks = new PeerBlocks(peer, null);
    for (TestMapOutput output : outputs) {
      for (int partition = 0; partition < PARTITIONS; partition++) {
        blocks.add(output.ref(), partition, partition + 1);
      }
    }
    return blocks;
  }

  private void firstReads() throws InterruptedException {
    for (int task = 0; task < TASKS; task++) {
      PeerBlocks blocks = new PeerBlocks(peer, null);
      addOfEachMap(blocks, task);
      read(blocks);
    }
  }

  /** Tasks open a second connection to a peer when two of them happen to read from it at the same time. */
  private void connectTwice() throws Exception {
    for (int i = 0; i < MOST_TRIES && reader.stats().connectTimes.count() < 2; i++) {
      readSideBySide();
    }
  }

  private void readSideBySide() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      Callable<Void> task = () -> {
        read(apart());
        return null;
      };
      for (Future<Void> one : pool.invokeAll(List.of(task, task))) {
        one.get();
      }
    } finally {
      pool.shutdown();
    }
  }

  /** Reads the blocks in the calling thread, which is a task's. */
  private void read(PeerBlocks blocks) throws InterruptedException {
    long thread = Thread.currentThread().getId();
    long bytes = 0;
    Work start = workOf(thread);
    try (DirectFetch fetch = fetcher.direct(List.of(blocks), WIDE, () -> {})) {
      while (fetch.next()) {
        bytes += fetch.bytes().lengthBytes();
      }
    }
    Work work = workOf(thread).minus(start);
    if (bytes != (long) blocks.size() * BLOCK_BYTES) {
      throw new IllegalStateException(bytes + " bytes of " + blocks.size() + " blocks");
    }
    synchronized (this) {
      tasks = tasks.plus(work);
      blocksRead += blocks.size();
    }
  }
}
