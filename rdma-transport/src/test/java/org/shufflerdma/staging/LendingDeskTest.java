/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.control.ProtocolException;

@Timeout(60)
class LendingDeskTest {
  private static final int LOAN_BYTES = 64 << 10;
  private static final int LOANS = 4;
  private static final int SLAB_BYTES = LOANS * LOAN_BYTES;
  private static final int REQUESTS = 8;
  private static final int LONG_MS = 60_000;

  private final StagingStats stats = new StagingStats();
  private RdmaTransport transport;

  /** The steps that workers would take, which the test takes when it likes. */
  private final Queue<Runnable> workers = new ArrayDeque<>();

  @BeforeEach
  void open() throws Exception {
    transport = TestTransports.open("owner");
  }

  @AfterEach
  void close() {
    transport.close();
  }

  private LendingDesk desk(StagingBudget budget, int idleMs, int leaseMs) {
    return desk(budget, RequestQuota.ofProcess(), idleMs, leaseMs);
  }

  private LendingDesk desk(StagingBudget budget, RequestQuota quota, int idleMs, int leaseMs) {
    StagingSettings settings = new StagingSettings(
        budget.maxBytes(), LOAN_BYTES, SLAB_BYTES, REQUESTS, 1, 5_000, idleMs, leaseMs);
    return new LendingDesk(
        transport.protectionDomain(), settings, budget, quota, stats, workers::add);
  }

  /** A reader whose requests the test carries out when it likes. */
  private static final class Reader {
    final String name;
    final LendingDesk desk;
    final LendingDesk.Borrower borrower;
    final Map<Long, LendingDesk.Loan> lent = new HashMap<>();
    final Set<Long> waiting = new HashSet<>();
    private long lastId;

    Reader(String name, LendingDesk desk, Queue<Runnable> workers) {
      this.name = name;
      this.desk = desk;
      this.borrower = desk.enter(loan -> workers.add(() -> carryOut(loan)));
    }

    void ask(int bytes) throws ProtocolException {
      carryOut(noted(bytes));
    }

    /** Asks, and has no worker look at it. */
    LendingDesk.Loan note() throws ProtocolException {
      return noted(LOAN_BYTES);
    }

    private LendingDesk.Loan noted(int bytes) throws ProtocolException {
      StageRequest request =
          new StageRequest(++lastId, bytes, List.of(), List.of(new StagedRange(1, 2, 0, 1, 0)));
      return Objects.requireNonNull(desk.ask(borrower, request));
    }

    static List<Long> ids(List<LendingDesk.Loan> loans) {
      return loans.stream().map(LendingDesk.Loan::id).toList();
    }

    void carryOut(LendingDesk.Loan loan) {
      long id = loan.id();
      switch (desk.take(loan)) {
        case FILL -> {
          lent.put(id, loan);
          waiting.remove(id);
        }
        case WAITS -> waiting.add(id);
        case REFUSED, OVER -> waiting.remove(id);
      }
    }

    /** The request is filled with so many bytes, and the reader reads them. */
    void fill(long id, int bytes) {
      assertThat(desk.filled(Objects.requireNonNull(lent.get(id)), bytes)).isTrue();
    }

    void giveBack(long id) {
      lent.remove(id);
      desk.returned(borrower, List.of(id));
    }

    int held() {
      return lent.size();
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private void runWorkers() {
    Runnable step;
    while ((step = workers.poll()) != null) {
      step.run();
    }
  }

  @Test
  void noneGetsASecondLoanWhileAnotherHasNone() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), LONG_MS, LONG_MS)) {
      Reader first = new Reader("first", desk, workers);
      Reader second = new Reader("second", desk, workers);
      Reader third = new Reader("third", desk, workers);
      for (long i = 1; i <= LOANS; i++) {
        first.ask(LOAN_BYTES);
        first.fill(i, LOAN_BYTES);
      }
      first.ask(LOAN_BYTES);
      second.ask(LOAN_BYTES);
      second.ask(LOAN_BYTES);
      third.ask(LOAN_BYTES);
      assertThat(List.of(first.held(), second.held(), third.held())).containsExactly(4, 0, 0);
      assertThat(desk.waitMs(null)).isPositive();
      List<List<Integer>> held = new ArrayList<>();
      for (long i = 1; i <= LOANS; i++) {
        first.giveBack(i);
        runWorkers();
        held.add(List.of(first.held(), second.held(), third.held()));
      }
      assertThat(held)
          .containsExactly(List.of(3, 1, 0), List.of(2, 1, 1), List.of(2, 1, 1), List.of(1, 2, 1));
      assertThat(stats.requestsWaited.sum()).isEqualTo(4);
      assertThat(desk.waitMs(null)).isZero();
    }
  }

  @Test
  void whatIsNotNeededIsLentToOthersAtOnce() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), LONG_MS, LONG_MS)) {
      List<Reader> readers = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        Reader reader = new Reader("reader-" + i, desk, workers);
        reader.ask(LOAN_BYTES);
        reader.fill(1, 1_000);
        readers.add(reader);
      }
      assertThat(readers).allMatch(reader -> reader.held() == 1);
      assertThat(desk.registeredBytes()).isEqualTo(SLAB_BYTES);
    }
  }

  /** The reader has other uses for its places than requests that nobody wants any more. */
  @Test
  void requestsThatAreNotWantedAnyMoreCountNoMore() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), LONG_MS, LONG_MS)) {
      Reader reader = new Reader("reader", desk, workers);
      List<LendingDesk.Loan> unwanted = new ArrayList<>();
      for (int turn = 0; turn < 2; turn++) {
        for (long i = 0; i < REQUESTS; i++) {
          unwanted.add(reader.note());
        }
        desk.returned(reader.borrower, Reader.ids(unwanted));
      }
      assertThat(desk.idleNs(reader.borrower)).isPositive();
      unwanted.forEach(loan -> assertThat(desk.take(loan)).isEqualTo(LendingDesk.Outcome.OVER));
      reader.ask(LOAN_BYTES);
      assertThat(reader.held()).isEqualTo(1);
      assertThatThrownBy(() -> {
            for (int i = 0; i < 100 * REQUESTS; i++) {
              desk.returned(reader.borrower, Reader.ids(List.of(reader.note())));
            }
          })
          .isInstanceOf(ProtocolException.class);
    }
  }

  /** Until a request is carried out its ranges are on the heap, also those of one that nobody wants any more. */
  @Test
  void requestsCountInTheQuotaUntilTheyAreCarriedOut() throws Exception {
    int left = 1_000;
    RequestQuota quota = new RequestQuota(left);
    assertThat(quota.ofUser().tryTake(left / 2 + 1))
        .as("more than half by one user")
        .isFalse();
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), quota, LONG_MS, LONG_MS)) {
      Reader reader = new Reader("reader", desk, workers);
      LendingDesk.Loan filled = reader.note();
      LendingDesk.Loan unwanted = reader.note();
      LendingDesk.Loan givenUp = reader.note();
      desk.returned(reader.borrower, Reader.ids(List.of(unwanted)));
      assertThat(roomOf(quota)).isEqualTo(left - 3 * 5);
      reader.carryOut(filled);
      reader.fill(filled.id(), 1);
      reader.carryOut(unwanted);
      desk.giveUp(givenUp);
      assertThat(roomOf(quota)).isEqualTo(left);
      assertThat(quota.tryTake(left)).isTrue();
      StageRequest surplus =
          new StageRequest(9, LOAN_BYTES, List.of(), List.of(new StagedRange(1, 2, 0, 1, 0)));
      assertThat(desk.ask(reader.borrower, surplus)).isNull();
      quota.giveBack(left);
      LendingDesk.Loan late = reader.note();
      reader.carryOut(late);
      desk.end(reader.borrower);
      assertThat(roomOf(quota)).isEqualTo(left - 5);
      assertThat(desk.filled(late, 1)).isFalse();
      assertThat(roomOf(quota)).isEqualTo(left);
    }
  }

  /** By bisection. */
  private static int roomOf(RequestQuota quota) {
    int room = 0;
    for (int step = 1 << 10; step > 0; step /= 2) {
      if (quota.tryTake(room + step)) {
        quota.giveBack(room + step);
        room += step;
      }
    }
    return room;
  }

  /** The worker who is to fill it may stand behind others whom a disk keeps waiting. */
  @Test
  void memoryThatNobodyHasBegunToFillComesBackFromAReaderThatEnds() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), LONG_MS, LONG_MS)) {
      Reader first = new Reader("first", desk, workers);
      for (int i = 0; i < LOANS; i++) {
        first.ask(LOAN_BYTES);
        first.fill(i + 1L, LOAN_BYTES);
      }
      Reader ends = new Reader("ends", desk, workers);
      ends.ask(LOAN_BYTES);
      first.giveBack(1); // it is to be filled for the second reader now
      desk.end(ends.borrower);
      Reader other = new Reader("other", desk, workers);
      other.ask(LOAN_BYTES);
      assertThat(other.held()).isEqualTo(1);
      runWorkers();
      assertThat(ends.held()).isZero();
      desk.closeWhatNobodyFills();
      assertThat(desk.registeredBytes()).as("one is being filled").isEqualTo(SLAB_BYTES);
      assertThat(desk.filled(Objects.requireNonNull(other.lent.get(1L)), LOAN_BYTES))
          .isFalse();
      desk.closeWhatNobodyFills();
      assertThat(desk.registeredBytes()).isZero();
    }
  }

  /** One slab for two servers, both of which always have somebody who waits. */
  @Test
  void serversTakeTurnsWithTheirLastMemory() throws Exception {
    StagingBudget budget = new StagingBudget(SLAB_BYTES);
    try (LendingDesk one = desk(budget, LONG_MS, LONG_MS);
        LendingDesk two = desk(budget, LONG_MS, LONG_MS)) {
      Reader ofOne = new Reader("one", one, workers);
      Reader ofTwo = new Reader("two", two, workers);
      long id = 0;
      ofTwo.ask(LOAN_BYTES);
      ofTwo.fill(1, 1);
      ofTwo.giveBack(1);
      ofTwo.ask(LOAN_BYTES);
      Deadline deadline = Deadline.afterMs(20_000);
      while (ofOne.held() == 0 && !deadline.expired()) {
        if (id++ == 0) {
          ofOne.ask(LOAN_BYTES);
        }
        for (long held : List.copyOf(ofTwo.lent.keySet())) {
          ofTwo.fill(held, 1);
          ofTwo.giveBack(held);
          ofTwo.ask(LOAN_BYTES);
        }
        one.look();
        two.look();
        runWorkers();
      }
      assertThat(ofOne.held()).isEqualTo(1);
    }
  }

  @Test
  void whatAReaderKeepsComesBackWhenItsLeaseIsOver() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), LONG_MS, 50)) {
      Reader keeps = new Reader("keeps", desk, workers);
      for (long i = 1; i <= LOANS; i++) {
        keeps.ask(LOAN_BYTES);
        keeps.fill(i, LOAN_BYTES);
      }
      desk.end(keeps.borrower); // READs may be under way
      Reader other = new Reader("other", desk, workers);
      other.ask(LOAN_BYTES);
      assertThat(other.held()).isZero();
      Deadline deadline = Deadline.afterMs(10_000);
      while (other.held() == 0 && !deadline.expired()) {
        desk.look();
        runWorkers();
      }
      assertThat(other.held()).isEqualTo(1);
      assertThat(stats.loansOverdue.sum()).isBetween(1L, (long) LOANS);
    }
  }

  @Test
  void aServerWithoutMemoryGetsSomeOfAnother() throws Exception {
    StagingBudget budget = new StagingBudget(2L * SLAB_BYTES);
    try (LendingDesk one = desk(budget, LONG_MS, LONG_MS);
        LendingDesk two = desk(budget, LONG_MS, LONG_MS)) {
      Reader ofOne = new Reader("one", one, workers);
      for (long i = 1; i <= 2 * LOANS; i++) {
        ofOne.ask(LOAN_BYTES);
        ofOne.fill(i, LOAN_BYTES);
      }
      Reader ofTwo = new Reader("two", two, workers);
      ofTwo.ask(LOAN_BYTES);
      for (long i = 1; i <= LOANS; i++) {
        one.look();
        ofOne.giveBack(2 * i - 1); // of both slabs
        ofOne.giveBack(2 * i);
      }
      one.look();
      two.look();
      runWorkers();
      assertThat(ofTwo.held()).isEqualTo(1);
      assertThat(one.registeredBytes()).isEqualTo(SLAB_BYTES);
    }
  }

  @Test
  void memoryThatNobodyUsesIsGivenUp() throws Exception {
    try (LendingDesk desk = desk(new StagingBudget(SLAB_BYTES), 20, LONG_MS)) {
      Reader reader = new Reader("reader", desk, workers);
      reader.ask(LOAN_BYTES);
      reader.fill(1, 100);
      TimeUnit.MILLISECONDS.sleep(60);
      desk.look();
      assertThat(desk.registeredBytes()).as("while it is lent").isEqualTo(SLAB_BYTES);
      reader.giveBack(1);
      TimeUnit.MILLISECONDS.sleep(60);
      desk.look();
      assertThat(desk.registeredBytes()).isZero();
    }
  }

  /** {@code -Dstaging.seed} repeats a run. */
  @Test
  void noMemoryIsLentTwiceAndEveryRequestIsServed() throws Exception {
    long seed = Long.getLong("staging.seed", new Random().nextLong());
    Random random = new Random(seed);
    StagingBudget budget = new StagingBudget(2L * SLAB_BYTES);
    List<Reader> readers = new ArrayList<>();
    try (LendingDesk desk = desk(budget, LONG_MS, LONG_MS)) {
      for (int i = 0; i < 12; i++) {
        readers.add(new Reader("reader-" + i, desk, workers));
      }
      Map<LendingDesk.Loan, Integer> filled = new HashMap<>();
      for (int step = 0; step < 5_000; step++) {
        Reader reader = readers.get(random.nextInt(readers.size()));
        if (random.nextBoolean() && reader.held() + reader.waiting.size() < REQUESTS) {
          reader.ask(1 + random.nextInt(2 * LOAN_BYTES));
        } else if (reader.held() > 0) {
          long id = reader.lent.keySet().iterator().next();
          LendingDesk.Loan loan = Objects.requireNonNull(reader.lent.get(id));
          if (filled.containsKey(loan)) {
            filled.remove(loan);
            reader.giveBack(id);
          } else {
            int bytes = 1 + random.nextInt(loan.memory().remaining());
            reader.fill(id, bytes);
            filled.put(loan, bytes);
          }
        } else if (!reader.waiting.isEmpty() && random.nextInt(8) == 0) {
          long id = reader.waiting.iterator().next();
          reader.waiting.remove(id);
          desk.returned(reader.borrower, List.of(id));
        }
        runWorkers();
        assertNoneOverlap(readers, filled, seed);
        assertThat(budget.takenBytes()).isLessThanOrEqualTo(budget.maxBytes());
      }
      while (readers.stream().anyMatch(reader -> reader.held() > 0)) {
        for (Reader reader : readers) {
          for (long id : List.copyOf(reader.lent.keySet())) {
            if (!filled.containsKey(reader.lent.get(id))) {
              reader.fill(id, 1);
            }
            reader.giveBack(id);
          }
        }
        runWorkers();
      }
      assertThat(readers).as("seed %d", seed).allMatch(reader -> reader.waiting.isEmpty());
    }
  }

  private static void assertNoneOverlap(
      List<Reader> readers, Map<LendingDesk.Loan, Integer> filled, long seed) {
    Map<Long, Long> endByStart = new HashMap<>();
    List<Long> starts = new ArrayList<>();
    for (Reader reader : readers) {
      for (LendingDesk.Loan loan : reader.lent.values()) {
        long bytes = filled.getOrDefault(loan, loan.memory().remaining());
        starts.add(loan.address());
        assertThat(endByStart.put(loan.address(), loan.address() + bytes)).isNull();
      }
    }
    starts.sort(null);
    for (int i = 1; i < starts.size(); i++) {
      assertThat(endByStart.get(starts.get(i - 1)))
          .as("seed %d", seed)
          .isLessThanOrEqualTo(starts.get(i));
    }
  }
}
