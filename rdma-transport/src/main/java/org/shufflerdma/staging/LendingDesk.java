/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lends the registered memory of one staging server, for one request at a time:
 *
 * <pre>
 *   ask ──▶ ASKED ──take──▶ FILLING ──filled: what is not needed comes back──▶ LENT ──returned, or lease over──▶ OVER
 *               └─no room─▶ WAITING ──room──▶ FILLING
 * </pre>
 *
 * <p>A request that its reader does not want any more, or whose reader has ended, counts no more among its reader's requests, but in
 * the quota until a worker has come to it. Memory that no worker has begun to fill comes back at once. Memory that has been lent comes back when the reader returns it or its lease is over, also if the reader
 * has ended, as READs may be under way until then.
 *
 * <p>Of the requests that wait, that of the reader which holds the fewest loans comes first, and among equals the
 * one that came first: few readers get many loans, many get one each, and none gets a second one while another has
 * none. Any thread may call; no lock is held while memory is registered. The owner closes it when nothing is being filled.
 */
final class LendingDesk implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LendingDesk.class);
  private static final int PAUSE_MS = 10_000;

  /** A server without any memory waits for so long before another one gives it its last. */
  private static final long TURN_NS = TimeUnit.SECONDS.toNanos(1);

  /** A reader may have so many times as many requests with the workers that it does not want any more. */
  private static final int UNWANTED = 8;

  /** The weight of the last interval in the mean is a part in so many. */
  private static final int MEAN_OVER = 8;

  private enum State {
    ASKED,
    WAITING,
    FILLING,
    LENT,
    OVER
  }

  /** What comes of an attempt to take memory. */
  enum Outcome {
    /** There is memory, which the caller fills. */
    FILL,
    /** The request is carried out when there is memory. */
    WAITS,
    /** No memory can be registered. */
    REFUSED,
    /** Nobody wants it any more. */
    OVER
  }

  /** A request, and when there is memory for it, that memory. */
  final class Loan {
    private final Borrower borrower;
    private final long id;
    private final int bytes;

    // Guarded by the desk.
    private final long arrival = ++arrivals;
    private State state = State.ASKED;

    /** Until it has been carried out, as its ranges count in the quota. */
    private @Nullable StageRequest request;

    /** A worker has begun to fill the memory, so that it can come back from there alone. */
    private boolean isBegun;

    private boolean isUnwanted;
    private boolean hasWaited;
    private @Nullable StagingSlab slab;
    private long offset;
    private int keptBytes;
    private long lentNs;

    private Loan(Borrower borrower, StageRequest request) {
      this.borrower = borrower;
      this.request = request;
      this.id = request.id();
      this.bytes = Math.min(request.maxBytes(), settings.loanBytes());
    }

    long id() {
      return id;
    }

    /** What a worker is to carry out, before it takes memory. */
    StageRequest request() {
      return Objects.requireNonNull(request);
    }

    /** The memory to be filled. */
    ByteBuffer memory() {
      return slab().view(offset, bytes);
    }

    long address() {
      return slab().address(offset);
    }

    int rkey() {
      return slab().rkey();
    }

    private StagingSlab slab() {
      StagingSlab lending = slab;
      if (lending == null) {
        throw new IllegalStateException("nothing has been lent");
      }
      return lending;
    }
  }

  /** The requests of one reader. */
  static final class Borrower {
    private final Consumer<Loan> again;

    // Guarded by the desk.
    private final Map<Long, Loan> loans = new HashMap<>();
    private int held;
    private int unwanted;
    private boolean ended;
    private long lastUseNs = System.nanoTime();

    private Borrower(Consumer<Loan> again) {
      this.again = again;
    }
  }

  /** In which those that wait are served. */
  private static final Comparator<Loan> ORDER = Comparator.<Loan>comparingInt(
          loan -> loan.borrower.held)
      .thenComparingLong(loan -> loan.arrival);

  private final ProtectionDomain domain;
  private final StagingSettings settings;
  private final StagingBudget budget;
  private final RequestQuota quota;
  private final StagingStats stats;
  private final Consumer<Runnable> workers;
  private final long leaseNs;
  private final LogThrottle failures = new LogThrottle();

  // Guarded by this.
  private final List<StagingSlab> slabs = new ArrayList<>();
  private final Set<Loan> waiting = new LinkedHashSet<>();

  /** In the order in which they were lent, which is that in which their leases end. */
  private final Set<Loan> lent = new LinkedHashSet<>();

  private long arrivals;
  private boolean grows;
  private boolean closed;

  /** The end of the pause after memory could not be registered. */
  private Deadline pause = Deadline.afterMs(0);

  /** The mean interval at which requests that wait get memory, and when the last one did or began to wait alone. */
  private long meanNs;

  private long lastNs;

  /** @param workers has a worker carry out what registers memory; it must not block */
  LendingDesk(
      ProtectionDomain domain,
      StagingSettings settings,
      StagingBudget budget,
      RequestQuota quota,
      StagingStats stats,
      Consumer<Runnable> workers) {
    this.workers = workers;
    this.quota = quota;
    this.domain = domain;
    this.settings = settings;
    this.budget = budget;
    this.stats = stats;
    this.leaseNs = TimeUnit.MILLISECONDS.toNanos(settings.leaseMs());
  }

  /** @param again has a worker try once more to {@link #take} memory for a request; it must not block */
  Borrower enter(Consumer<Loan> again) {
    return new Borrower(again);
  }

  /** Notes a request. Throws if the reader has no right to it; returns null if it has ended, or the quota has no room. */
  synchronized @Nullable Loan ask(Borrower borrower, StageRequest request)
      throws ProtocolException {
    if (borrower.ended || closed) {
      return null;
    }
    if (borrower.loans.size() >= settings.requestsPerReader()
        || borrower.unwanted >= UNWANTED * settings.requestsPerReader()) {
      throw new ProtocolException("more than " + settings.requestsPerReader() + " requests");
    }
    if (borrower.loans.containsKey(request.id())) {
      throw new ProtocolException("two requests with the number " + request.id());
    }
    borrower.lastUseNs = System.nanoTime();
    if (!quota.tryTake(RequestQuota.unitsOf(request))) {
      return null;
    }
    Loan loan = new Loan(borrower, request);
    borrower.loans.put(request.id(), loan);
    return loan;
  }

  /** Takes memory for a request, for which it may register some. */
  Outcome take(Loan loan) {
    while (true) {
      Outcome outcome = takeOrGrow(loan);
      if (outcome != null) {
        return outcome;
      }
      grow();
    }
  }

  /** Null if the caller is to have the desk grow first. */
  private synchronized @Nullable Outcome takeOrGrow(Loan loan) {
    if (loan.isUnwanted || closed) {
      over(loan);
      return Outcome.OVER;
    }
    if (loan.state == State.FILLING) { // it had waited
      loan.isBegun = true;
      return Outcome.FILL;
    }
    boolean isFirst = waiting.stream().allMatch(other -> ORDER.compare(loan, other) < 0);
    if (isFirst && cut(loan)) {
      loan.isBegun = true;
      return Outcome.FILL;
    }
    if (!grows && !pause.expired() && slabs.isEmpty()) {
      over(loan);
      return Outcome.REFUSED;
    }
    if (isFirst && !grows && pause.expired() && budget.tryTake(this, settings.slabBytes())) {
      grows = true;
      return null;
    }
    if (!loan.hasWaited) {
      loan.hasWaited = true;
      stats.requestsWaited.increment();
    }
    if (waiting.isEmpty()) {
      lastNs = System.nanoTime();
      meanNs = 0;
    }
    loan.state = State.WAITING;
    waiting.add(loan);
    return Outcome.WAITS;
  }

  /** Guarded by this. */
  private boolean cut(Loan loan) {
    for (StagingSlab slab : slabs) {
      long offset = slab.lend(loan.bytes);
      if (offset >= 0) {
        loan.slab = slab;
        loan.offset = offset;
        loan.keptBytes = loan.bytes;
        loan.state = State.FILLING;
        loan.borrower.held++;
        return true;
      }
    }
    return false;
  }

  /** Registers a slab, whose bytes have been taken from the budget. */
  private void grow() {
    StagingSlab slab = null;
    try {
      slab = StagingSlab.open(domain, settings.slabBytes());
    } catch (IOException | RuntimeException | Error e) {
      if (failures.tryLog() >= 0) {
        LOG.warn("Memory in which map outputs are staged could not be registered", e);
      }
    }
    synchronized (this) {
      grows = false;
      if (slab == null) {
        pause = Deadline.afterMs(PAUSE_MS);
        budget.giveBack(this, settings.slabBytes());
      } else if (!closed) {
        slabs.add(slab);
        slab = null;
      }
    }
    if (slab != null) {
      close(slab);
    }
    serveWaiting();
  }

  /** Gives requests that wait what there is, and has more registered if the budget has room. */
  private void serveWaiting() {
    List<Loan> toServe = new ArrayList<>();
    boolean mayGrow;
    synchronized (this) {
      boolean areRefused = closed || (slabs.isEmpty() && !grows && !pause.expired());
      Loan first;
      while ((first = waiting.stream().min(ORDER).orElse(null)) != null) {
        if (areRefused) {
          first.state = State.ASKED; // a worker tells the reader
        } else if (cut(first)) {
          noteServed();
        } else {
          break;
        }
        waiting.remove(first);
        toServe.add(first);
      }
      if (first == null) {
        budget.doNotWait(this);
      }
      mayGrow =
          first != null && !grows && pause.expired() && budget.tryTake(this, settings.slabBytes());
      grows |= mayGrow;
    }
    toServe.forEach(loan -> loan.borrower.again.accept(loan));
    if (mayGrow) {
      growInWorker();
    }
  }

  private void growInWorker() {
    try {
      workers.accept(this::grow);
    } catch (RuntimeException | Error e) { // the next look tries again
      synchronized (this) {
        grows = false;
      }
      budget.giveBack(this, settings.slabBytes());
      LOG.debug("No worker registers memory", e);
    }
  }

  /** Guarded by this. */
  private void noteServed() {
    long nowNs = System.nanoTime();
    meanNs += (nowNs - lastNs - meanNs) / MEAN_OVER;
    lastNs = nowNs;
  }

  /** How many milliseconds a request that waits will probably wait; 0 if none does. */
  synchronized int waitMs(@Nullable Loan loan) {
    if (waiting.isEmpty()) {
      return 0;
    }
    long before = loan == null
        ? waiting.size()
        : waiting.stream().filter(other -> ORDER.compare(other, loan) < 0).count();
    long ns = Math.max(System.nanoTime() - lastNs, (before + 1) * meanNs);
    return (int) Math.min(Integer.MAX_VALUE, 1 + TimeUnit.NANOSECONDS.toMillis(ns));
  }

  /**
   * The request has been carried out, with so many bytes of its memory. Returns whether the reader is lent
   * these from now on.
   */
  boolean filled(Loan loan, int usedBytes) {
    boolean isLent;
    synchronized (this) {
      loan.borrower.lastUseNs = System.nanoTime();
      carriedOut(loan);
      loan.slab().takeBackTail(loan.offset, loan.bytes, usedBytes);
      loan.keptBytes = usedBytes;
      isLent = usedBytes > 0 && !loan.isUnwanted && !closed;
      if (isLent) {
        loan.state = State.LENT;
        loan.lentNs = System.nanoTime();
        lent.add(loan);
      } else {
        over(loan);
      }
    }
    serveWaiting();
    return isLent;
  }

  /** Guarded by this. */
  private void carriedOut(Loan loan) {
    StageRequest request = loan.request;
    if (request != null) {
      loan.request = null;
      quota.giveBack(RequestQuota.unitsOf(request));
    }
  }

  /** Nobody will carry the request out, for which no worker has taken memory, and its reader ends. */
  synchronized void giveUp(Loan loan) {
    over(loan);
  }

  /** The reader reads no more of a loan, or does not want it any more. It may have come back already. */
  void returned(Borrower borrower, List<Long> ids) {
    synchronized (this) {
      borrower.lastUseNs = System.nanoTime();
      for (long id : ids) {
        Loan loan = borrower.loans.get(id);
        if (loan != null) {
          leave(loan, true);
        }
      }
    }
    serveWaiting();
  }

  /** The reader has ended. What it has been lent comes back when its lease is over. */
  void end(Borrower borrower) {
    synchronized (this) {
      borrower.ended = true;
      List.copyOf(borrower.loans.values()).forEach(loan -> leave(loan, false));
    }
    serveWaiting();
  }

  /** Guarded by this. */
  private void leave(Loan loan, boolean isReadNoMore) {
    switch (loan.state) {
      case ASKED, FILLING -> {
        loan.isUnwanted = true;
        loan.borrower.unwanted++;
        loan.borrower.loans.remove(loan.id);
        if (!loan.isBegun) { // the worker who comes to it may be long in coming
          takeBack(loan);
        }
      }
      case WAITING -> over(loan);
      case LENT -> {
        if (isReadNoMore) {
          over(loan);
        }
      }
      case OVER -> {}
    }
  }

  /** Guarded by this. */
  private void takeBack(Loan loan) {
    StagingSlab slab = loan.slab;
    if (slab != null) {
      slab.takeBack(loan.offset, loan.keptBytes);
      loan.borrower.held--;
      loan.slab = null;
    }
  }

  /** Guarded by this. */
  private void over(Loan loan) {
    takeBack(loan);
    carriedOut(loan);
    if (loan.isUnwanted && loan.state != State.OVER) {
      loan.borrower.unwanted--;
    }
    loan.state = State.OVER;
    loan.borrower.loans.remove(loan.id, loan);
    waiting.remove(loan);
    lent.remove(loan);
  }

  /** For how many nanoseconds the reader has asked for nothing and held nothing. */
  synchronized long idleNs(Borrower borrower) {
    return borrower.loans.isEmpty() ? System.nanoTime() - borrower.lastUseNs : 0;
  }

  /** Takes back what is overdue, and gives up memory that is not used, or that another server is to have. */
  void look() {
    List<StagingSlab> toClose = new ArrayList<>();
    synchronized (this) {
      long nowNs = System.nanoTime();
      Loan eldest;
      while ((eldest = lent.stream().findFirst().orElse(null)) != null
          && nowNs - eldest.lentNs > leaseNs) {
        eldest.slab().restUntil(nowNs + leaseNs);
        over(eldest);
        stats.loansOverdue.increment();
      }
      giveWay();
      long idleNs = TimeUnit.MILLISECONDS.toNanos(settings.idleMs());
      slabs.removeIf(slab -> {
        boolean isToClose =
            slab.isUnused(nowNs, idleNs) || (slab.isLeaving() && slab.isAtRest(nowNs));
        return isToClose && toClose.add(slab);
      });
    }
    toClose.forEach(this::close);
    serveWaiting();
  }

  /** Guarded by this. */
  private void giveWay() {
    if (slabs.stream().noneMatch(StagingSlab::isLeaving)
        && budget.isToGiveWay(this, settings.slabBytes(), TURN_NS)) {
      slabs.stream().min(Comparator.comparingInt(StagingSlab::loans)).ifPresent(StagingSlab::leave);
    }
  }

  private void close(StagingSlab slab) {
    try {
      slab.close();
      budget.giveBack(this, settings.slabBytes());
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be deregistered", settings.slabBytes(), e);
    }
  }

  long registeredBytes() {
    return budget.takenBytes(this);
  }

  /** Nothing is lent from now on. */
  synchronized void stop() {
    closed = true;
    budget.doNotWait(this);
  }

  /** Deregisters the memory that nobody fills, without regard to leases. All readers have ended. */
  void closeWhatNobodyFills() {
    stop();
    List<StagingSlab> unused = new ArrayList<>();
    synchronized (this) {
      List.copyOf(lent).forEach(this::over);
      slabs.removeIf(slab -> slab.loans() == 0 && unused.add(slab));
    }
    unused.forEach(this::close);
  }

  /** Deregisters all memory. */
  @Override
  public void close() {
    stop();
    List<StagingSlab> left;
    synchronized (this) {
      left = List.copyOf(slabs);
      slabs.clear();
    }
    left.forEach(this::close);
  }
}
