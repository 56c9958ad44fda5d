/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The program behind bin/faults. It runs the requested count of numbers of each kind, prints each
 * that did not pass, and ends with the totals.
 */
public final class Campaign {
  /** The stream for this program's own lines; Hadoop's formats print to {@code System.out}. */
  private static final PrintStream OUT = System.out;

  private static final int MOST_BAD = 10;
  private static final int MOST_MISSED = 100;
  private static final int NUMBERS_A_LINE = 20;

  private final Options options;
  private final Tally tally;
  private final long endNs;
  private int bad;

  private Campaign(Options options, Tally tally) {
    this.options = options;
    this.tally = tally;
    long minutes = options.minutes() == 0 ? TimeUnit.DAYS.toMinutes(365) : options.minutes();
    this.endNs = System.nanoTime() + TimeUnit.MINUTES.toNanos(minutes);
  }

  public static void main(String[] arguments) throws Exception {
    System.setOut(System.err);
    Runtime.getRuntime().addShutdownHook(new Thread(Campaign::killChildren, "campaign-end"));
    Options options = Options.parse(arguments);
    Tally tally;
    try {
      tally = Tally.open(options.resume(), options.seed(), options.sources(), options.settings());
    } catch (IllegalArgumentException e) {
      say(String.valueOf(e.getMessage()));
      System.exit(2);
      return;
    }
    new Campaign(options, tally).run();
    OUT.println(tally.summary());
    System.exit(tally.isClean() ? 0 : 1);
  }

  /** Ends all executors, including stopped ones, which nothing else would end. */
  private static void killChildren() {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
  }

  /**
   * Returns whether this JVM is being shut down, which ends jobs and executors without any fault of
   * theirs.
   */
  private static boolean isEnding() {
    try {
      Runtime.getRuntime().removeShutdownHook(Thread.currentThread());
      return false;
    } catch (IllegalStateException e) {
      return true;
    }
  }

  private static void say(String line) {
    OUT.println("faults: " + line);
  }

  private void run() throws Exception {
    for (Options.Kind kind : options.kinds()) {
      try (Trial trial = trial(kind)) {
        run(kind, trial);
      } catch (HungException e) {
        if (isEnding()) {
          return;
        }
        tally.add("hung", 1);
        tally.save();
        say(kind.label() + " does not end: " + e.getMessage());
      }
    }
  }

  private Trial trial(Options.Kind kind) throws IOException {
    return switch (kind) {
      case FAULTS -> new InjectedFaults(options.controls(), options.seed());
      case ORPHAN ->
        OrphanedReads.open(
            options.controls(), options.seed(), options.nodeServiceJar(), options.directory());
      case TERASORT ->
        new KilledSorts(
            options.controls(), options.seed(), options.directory(), options.records(), tally);
      case CANCEL -> new CancelledJobs(options.controls(), options.seed());
      case LEAK -> new LeakChecks(options.controls());
    };
  }

  private void run(Options.Kind kind, Trial trial) throws Exception {
    Long only = options.number();
    if (only != null) {
      Verdict verdict = runOne(kind, trial, only);
      say(kind.label() + " " + only + " " + verdict.kind() + ": " + verdict.text());
      return;
    }
    String next = kind.label() + ".next";
    int missed = 0;
    while (tally.get(kind.label()) < options.count(kind)
        && bad < MOST_BAD
        && System.nanoTime() < endNs) {
      Verdict verdict = runOne(kind, trial, tally.get(next));
      if (isEnding()) {
        return;
      }
      missed = verdict.isCounted() ? 0 : missed + 1;
      if (missed == MOST_MISSED) {
        throw new IllegalStateException(missed + " numbers in a row came to nothing");
      }
      tally.add(next, 1);
      tally.save();
      if (tally.get(next) % NUMBERS_A_LINE == 0) {
        say("%s: %d of %d".formatted(kind.label(), tally.get(kind.label()), options.count(kind)));
      }
    }
  }

  private Verdict runOne(Options.Kind kind, Trial trial, long number) throws Exception {
    long startNs = System.nanoTime();
    Verdict verdict;
    try {
      verdict = trial.run(number);
    } catch (HungException e) {
      verdict = new Verdict(Verdict.Kind.HUNG, e.toString());
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      verdict = Verdict.wrong("the campaign failed: " + e);
    }
    if (isEnding()) {
      return Verdict.missed("the campaign was ended");
    }
    note("%s %s %d %s, %d ms: %s"
        .formatted(
            Instant.now().truncatedTo(ChronoUnit.SECONDS),
            kind.label(),
            number,
            verdict.kind(),
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs),
            verdict.text()));
    if (verdict.isCounted()) {
      tally.add(kind.label(), trial.weight());
    }
    if (verdict.kind() == Verdict.Kind.SPARK_FAILURE || verdict.isBad()) {
      tally.add(verdict.kind().name().toLowerCase(Locale.ROOT), 1);
    }
    if (verdict.isBad()) {
      bad++;
      report(kind, trial, number, verdict);
    }
    return verdict;
  }

  private void note(String line) throws IOException {
    Files.writeString(
        options.directory().resolve("numbers.log"),
        line + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  private void report(Options.Kind kind, Trial trial, long number, Verdict verdict)
      throws Exception {
    Path evidence = options
        .directory()
        .resolve("%s-%d-%d-%d"
            .formatted(
                kind.label(), options.seed(), number, ProcessHandle.current().pid()));
    say("%s %d %s: %s".formatted(kind.label(), number, verdict.kind(), verdict.text()));
    try {
      trial.keepEvidence(evidence);
    } catch (IOException e) {
      say("not all of the evidence could be kept: " + e);
    }
    say("logs in " + evidence + "; again: bin/faults --kind " + kind.label() + " --seed "
        + options.seed() + " --number " + number + options.again());
    trial.endCluster();
  }
}
