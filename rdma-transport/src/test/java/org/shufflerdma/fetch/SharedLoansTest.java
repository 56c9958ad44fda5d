/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.FetchOutcome;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.direct.TaskFetches;
import org.shufflerdma.metrics.TcpReason;

/** Tasks and executors that share the memory in which an owner stages. */
class SharedLoansTest extends StagedScene {
  /** Short, for a test that waits until the owner has been idle for so long. */
  private static final int SOON_IDLE_MS = 2_000;

  @Test
  void manyTasksShareTheRequestsOfTheirProcess() throws Exception {
    List<Block> blocks = oneBlockOfEach(40, 50_000);
    commit(100, 10, 1_000_000);
    blocks.add(new Block(100, 1, 2));
    ExecutorService tasks = Executors.newFixedThreadPool(12);
    try {
      List<Future<FetchOutcome>> outcomes = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        Callable<FetchOutcome> task = () -> reader.read(of(blocks));
        outcomes.add(tasks.submit(task));
      }
      for (Future<FetchOutcome> outcome : outcomes) {
        assertRead(outcome.get(), blocks);
      }
    } finally {
      tasks.shutdownNow();
      assertThat(tasks.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(owner.staging.stats().readersRefused.sum()).isZero();
    assertThat(owner.staging.stats().readersAccepted.sum()).isEqualTo(1);
  }

  @Test
  void aReaderThatAsksForNothingTakesUpNoMemory() throws Exception {
    owner.close();
    owner = new Node("owner", SLAB_BYTES);
    List<Block> blocks = oneBlockOfEach(20, 50_000);
    assertRead(reader.read(of(blocks)), blocks);
    try (Node other = new Node("other", 0)) {
      assertRead(other.read(of(blocks)), blocks);
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.registeredBytes()).isLessThanOrEqualTo(SLAB_BYTES);
  }

  /** Each holds what it was lent until its task has read it; all of them are served, and none by TCP. */
  @Test
  void manyReadersShareLittleMemory() throws Exception {
    owner.close();
    owner = new Node("owner", SLAB_BYTES); // four loans, for twelve readers
    List<Block> blocks = oneBlockOfEach(6, 50_000);
    List<Node> readers = new ArrayList<>();
    ExecutorService tasks = Executors.newCachedThreadPool();
    try {
      for (int i = 0; i < 12; i++) {
        readers.add(new Node("reader-" + i, 0, 1 << 20, IDLE_MS));
      }
      List<Future<FetchOutcome>> outcomes = new ArrayList<>();
      for (Node each : readers) {
        outcomes.add(tasks.submit(() -> each.read(of(blocks))));
      }
      for (Future<FetchOutcome> outcome : outcomes) {
        assertRead(outcome.get(60, TimeUnit.SECONDS), blocks);
      }
      assertThat(owner.staging.registeredBytes()).isEqualTo(SLAB_BYTES);
    } finally {
      tasks.shutdownNow();
      assertThat(tasks.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
      readers.forEach(Node::close);
    }
  }

  /** The owner takes its memory back meanwhile, and a part of the large block has not been asked for. */
  @Test
  void aTaskThatIsBusyForLongGetsItsBlocksNevertheless() throws Exception {
    owner.close();
    owner = new Node("owner", 16 * SLAB_BYTES, POOL_BYTES, SOON_IDLE_MS);
    commit(1, 100, 10 * LOAN_BYTES);
    List<Block> blocks = List.of(new Block(1, 0, 1), new Block(1, 1, 2));
    PeerBlocks small = of(blocks.subList(0, 1));
    PeerBlocks large = of(blocks.subList(1, 2));
    try (DirectFetch fetch = reader.fetcher.direct(List.of(large, small), WIDE, () -> {})) {
      assertThat(fetch.next()).isTrue(); // the small block, unless this thread had to wait for long
      long first = fetch.bytes().lengthBytes();
      TimeUnit.MILLISECONDS.sleep(3 * SOON_IDLE_MS);
      assertThat(owner.staging.registeredBytes()).isZero();
      assertThat(fetch.next()).isTrue();
      assertThat(first + fetch.bytes().lengthBytes()).isEqualTo(100 + 10 * LOAN_BYTES);
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).isEmpty();
    }
  }

  /** Large blocks hold buffers and want loans; small ones hold loans and want buffers. */
  @Test
  void fewBuffersAndFewLoansKeepNoTaskWaitingForItself() throws Exception {
    List<Block> blocks = oneBlockOfEach(30, 50_000);
    for (int mapId = 100; mapId < 106; mapId++) {
      commit(mapId, 400_000);
      blocks.add((mapId - 100) * 3, new Block(mapId, 0, 1));
    }
    ExecutorService tasks = Executors.newFixedThreadPool(4);
    try (Node tight = new Node("tight", 0, 1 << 20, IDLE_MS)) {
      List<Future<FetchOutcome>> outcomes = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        outcomes.add(tasks.submit(() -> tight.read(of(blocks))));
      }
      for (Future<FetchOutcome> outcome : outcomes) {
        FetchOutcome seen = outcome.get(60, TimeUnit.SECONDS);
        assertThat(seen.left().values()).isSubsetOf(TcpReason.POOL);
        assertThat(seen.blocks().size() + seen.left().size()).isEqualTo(blocks.size());
        seen.blocks()
            .forEach((block, bytes) -> assertThat(bytes).isEqualTo(expected(blocks.get(block))));
      }
    } finally {
      tasks.shutdownNow();
    }
  }

  @Test
  void aTaskThatEndsEarlyReturnsItsLoans() throws Exception {
    List<Block> blocks = oneBlockOfEach(60, 60_000);
    for (int i = 0; i < 20; i++) {
      try (DirectFetch fetch = reader.fetcher.direct(List.of(of(blocks)), WIDE, () -> {})) {
        assertThat(fetch.next()).isTrue();
      }
    }
    assertRead(reader.read(of(blocks)), blocks);
  }

  /** The task takes a block of each fetch in turn, as a join of many inputs does. */
  @Test
  void aTaskDoesNotWaitForLoansThatItsOtherFetchesHold() throws Exception {
    int fetches = 3 * LOANS;
    int blocks = 4;
    long[] lengths = new long[fetches * blocks];
    Arrays.fill(lengths, LOAN_BYTES - 1000);
    commit(1, lengths);
    TaskFetches ofTask = new TaskFetches();
    List<DirectFetch> open = new ArrayList<>();
    for (int i = 0; i < fetches; i++) {
      List<Block> ofFetch = new ArrayList<>();
      for (int j = 0; j < blocks; j++) {
        ofFetch.add(new Block(1, i * blocks + j, i * blocks + j + 1));
      }
      open.add(reader.fetcher.direct(ofTask, List.of(of(ofFetch)), WIDE, () -> {}));
    }
    int read = 0;
    for (int i = 0; i < blocks; i++) {
      for (DirectFetch fetch : open) {
        read += fetch.next() ? 1 : 0;
      }
    }
    for (DirectFetch fetch : open) {
      assertThat(fetch.left()).isEmpty();
      fetch.close();
    }
    assertThat(read).isEqualTo(fetches * blocks);
  }
}
