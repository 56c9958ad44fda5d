/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.WcStatus;

/**
 * Measures how long the device takes to report a READ whose peer's queue pair is gone: with one
 * retry, and with as many as the plugin has.
 */
final class DeadPeer {
  static final String NAME = "dead peer";

  private static final int READ_BYTES = 4096;
  private static final long LEAST_NS = TimeUnit.SECONDS.toNanos(10);
  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(120);

  private DeadPeer() {}

  /**
   * The time after which the device gave a READ up.
   *
   * @param ackTimeout the ACK timeout in force: exponent n of 4.096 us * 2^n
   */
  record GivenUp(double seconds, int ackTimeout) {}

  /**
   * Measures the time after which the device gave the READ up, if it did.
   *
   * @param inSoftware whether each retry takes as long as the first; a hardware device may take
   *     longer with each, and is given all of the time
   */
  static Optional<GivenUp> measure(Bench bench, boolean inSoftware) throws IOException {
    int retries = bench.settings().retryCount();
    Unanswered once = unanswered(bench, 1, LONGEST_NS);
    Unanswered full = once.isOver()
        ? unanswered(
            bench, retries, inSoftware ? twiceAsLinear(once.seconds(), retries) : LONGEST_NS)
        : once;
    Report report = bench.report();
    report.measurement(
        NAME,
        once + " with 1 retry, " + full + " with the plugin's " + retries,
        Map.of("one_retry", once.json(), "plugins_retries", full.json()));
    if (!full.isOver()) {
      report.optional(
          NAME,
          Verdict.NOT_PROVEN,
          "a READ that nobody answers does not end within " + Samples.number(full.seconds())
              + " s: the plugin's own timeouts must end it (soft-RoCE takes 7 retries for retries"
              + " without end)");
      return Optional.empty();
    }
    if (full.status() == WcStatus.SUCCESS) {
      report.needed(NAME, Verdict.FAILED, "a READ of a queue pair that is gone succeeded");
      return Optional.empty();
    }
    report.optional(
        NAME,
        Verdict.PROVEN,
        "a READ of a queue pair that is gone ends with " + WcStatus.name(full.status()));
    return Optional.of(new GivenUp(full.seconds(), full.ackTimeout()));
  }

  private static long twiceAsLinear(double secondsOfTwoTries, int retries) {
    long expectedNs = (long) (secondsOfTwoTries * 1e9 * (retries + 1) / 2);
    return Math.min(LONGEST_NS, 2 * expectedNs + LEAST_NS);
  }

  private static Unanswered unanswered(Bench bench, int retries, long patienceNs)
      throws IOException {
    ConnectionSettings usual = bench.settings();
    Links.OwnLink own = bench
        .links()
        .connect(new ConnectionSettings(
            usual.keyPrefix(),
            usual.typeOfService(),
            usual.ackTimeout(),
            retries,
            usual.rnrRetryCount(),
            usual.maxRdAtomic(),
            usual.mtuBytes()));
    try (MappedFile mapped = MappedFile.open(bench.file().path());
        MemoryRegion region = bench.domain().register(mapped, 0, READ_BYTES, Access.REMOTE_READ);
        Reader reader = Reader.open(own.link(), bench.domain())) {
      own.served().close();
      long start = System.nanoTime();
      int status = reader.statusOfUnanswered(region, patienceNs);
      double seconds = (System.nanoTime() - start) / 1e9;
      own.link().reader().close();
      return new Unanswered(seconds, status, own.link().attributes().ackTimeout());
    }
  }

  /**
   * @param status {@link WcStatus}, or NONE if there was no completion
   * @param ackTimeout that was in force
   */
  private record Unanswered(double seconds, int status, int ackTimeout) {
    boolean isOver() {
      return status != Reader.NONE;
    }

    private String outcome() {
      return isOver() ? WcStatus.name(status) : "no completion";
    }

    Map<String, Object> json() {
      return Map.of("seconds", seconds, "status", outcome());
    }

    @Override
    public String toString() {
      return isOver()
          ? Samples.number(seconds) + " s until " + outcome()
          : "no completion within " + Samples.number(seconds) + " s";
    }
  }
}
