/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.Serializable;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.hardware.ClusterReport;
import org.shufflerdma.hardware.Diagnosis;
import org.shufflerdma.hardware.Diagnosis.Found;
import org.shufflerdma.hardware.Examined;
import org.shufflerdma.hardware.Fault;
import org.shufflerdma.hardware.HostExam;
import org.shufflerdma.hardware.Way;
import org.shufflerdma.hardware.WayMeasurement;
import org.shufflerdma.hardware.WayMeasurement.Stage;

/**
 * One examination of a cluster, from the wait for its executors to the report: all hosts at a time, then the ways between them, each host
 * on one way at a time so that nobody measures another's traffic, then the counters of all ports. One thread uses it.
 */
final class Rounds {
  private static final int SECRET_BYTES = 32;
  private static final int LOOK_MS = 20;

  /** Without a number, no further executor is expected after so long. */
  private static final int SETTLED_MS = 10_000;

  private static final int EXAM_MS = 90_000;
  private static final int WAY_MS = 120_000;
  private static final int COUNT_MS = 20_000;
  private static final Pattern LOCAL_CLUSTER =
      Pattern.compile("local-cluster\\[\\s*([0-9]{1,6})\\s*,.*");

  private final Desk desk;
  private final DoctorOptions options;
  private final RdmaSettings settings;
  private final String appId;
  private final int expected;
  private final Consumer<String> progress;
  private final Map<String, String> executors = new LinkedHashMap<>(); // ids, by participant's name
  private final Map<String, HostExam> exams = new LinkedHashMap<>();
  private final Map<String, Map<String, Long>> counters = new HashMap<>();

  /** Why a participant that Spark has not lost takes part no more. */
  private final Map<String, String> givenUp = new HashMap<>();

  /**
   * @param expected how many executors are waited for; 0 if that is not known
   */
  Rounds(
      Desk desk,
      DoctorOptions options,
      RdmaSettings settings,
      String appId,
      int expected,
      Consumer<String> progress) {
    this.desk = desk;
    this.options = options;
    this.settings = settings;
    this.appId = appId;
    this.expected = expected;
    this.progress = progress;
  }

  /** Returns how many executors the application asks for; 0 if only the cluster manager knows. */
  static int expected(SparkConf conf, DoctorOptions options) {
    if (options.executors() > 0) {
      return options.executors();
    }
    Matcher local = LOCAL_CLUSTER.matcher(conf.get("spark.master", ""));
    return local.matches()
        ? Integer.parseInt(local.group(1))
        : conf.getInt("spark.executor.instances", 0);
  }

  ClusterReport run() throws InterruptedException {
    List<Found> unseen = awaitExecutors();
    choose();
    progress.accept("examines " + String.join(", ", executors.keySet()));
    exam();
    List<Way> ways = measure();
    count();
    List<Examined> hosts = examined();
    return new ClusterReport(
        hosts, ways, Diagnosis.of(hosts, ways, unseen, settings, options.leastMbPerS()));
  }

  private List<Found> awaitExecutors() throws InterruptedException {
    Deadline patience = Deadline.afterMs(TimeUnit.SECONDS.toMillis(options.waitSeconds()));
    Deadline settled = patience;
    int seen = 0;
    while (!patience.expired() && !settled.expired() && !isComplete(seen)) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MS);
      int now = desk.seen().size();
      if (now > seen) {
        seen = now;
        progress.accept(seen + (expected > 0 ? " of " + expected : "") + " executors are there");
        if (expected == 0 && options.hosts().isEmpty()) {
          settled = patience.atMostMs(SETTLED_MS);
        }
      }
    }
    return unseen(seen);
  }

  private boolean isComplete(int seen) {
    return (expected > 0 || !options.hosts().isEmpty())
        && seen >= expected
        && hostsSeen().containsAll(options.hosts());
  }

  private Set<String> hostsSeen() {
    return desk.seen().stream().map(Desk.Seen::host).collect(Collectors.toSet());
  }

  private List<Found> unseen(int seen) {
    List<Found> unseen = new ArrayList<>();
    String within = " came within " + options.waitSeconds() + " s";
    Set<String> hosts = hostsSeen();
    for (String host : options.hosts()) {
      if (!hosts.contains(host)) {
        unseen.add(new Found(
            host,
            new Fault(
                "no executor of this host" + within + "; those that did are of " + hosts,
                "start a worker there, or take the host out of --hosts; --wait waits longer")));
      }
    }
    if (seen < Math.max(1, expected)) {
      unseen.add(new Found(
          "cluster",
          new Fault(
              seen + " of " + Math.max(1, expected) + " executors" + within,
              "free cores and memory for them in the cluster manager, or set --executors " + seen
                  + "; --wait waits longer")));
    }
    return unseen;
  }

  private void choose() {
    for (Desk.Seen seen : desk.seen()) {
      executors.putIfAbsent(
          options.perExecutor() ? seen.host() + "/" + seen.executorId() : seen.host(),
          seen.executorId());
    }
  }

  private void exam() throws InterruptedException {
    byte[] secret = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(secret);
    orderAll(executors.keySet(), new Command.Examine(appId, secret), EXAM_MS)
        .forEach((name, result) -> {
          if (result instanceof HostExam exam) {
            exams.put(name, exam);
          } else {
            givenUp.putIfAbsent(name, String.valueOf(result));
          }
        });
  }

  private void count() throws InterruptedException {
    orderAll(exams.keySet(), new Command.Count(), COUNT_MS).forEach((name, result) -> {
      Map<String, Long> values = new TreeMap<>();
      if (result instanceof Map<?, ?> map) {
        map.forEach((key, value) -> values.put((String) key, (Long) value));
      }
      counters.put(name, values);
    });
  }

  /** Returns the result of each, or a text that says why there is none. */
  private Map<String, Serializable> orderAll(Set<String> names, Command command, int patienceMs)
      throws InterruptedException {
    Map<String, CompletableFuture<Serializable>> orders = new LinkedHashMap<>();
    names.forEach(name -> orders.put(name, desk.order(executor(name), command)));
    Deadline patience = Deadline.afterMs(patienceMs);
    while (!patience.expired() && !orders.values().stream().allMatch(CompletableFuture::isDone)) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MS);
      desk.sweep(System.nanoTime());
    }
    Map<String, Serializable> results = new LinkedHashMap<>();
    for (Map.Entry<String, CompletableFuture<Serializable>> order : orders.entrySet()) {
      results.put(
          order.getKey(),
          order.getValue().isDone()
              ? result(order.getValue())
              : "did not end its work within " + patienceMs / 1000 + " s");
    }
    return results;
  }

  private static Serializable result(CompletableFuture<Serializable> done)
      throws InterruptedException {
    try {
      return done.get();
    } catch (ExecutionException e) {
      return String.valueOf(e.getCause() == null ? e.getMessage() : e.getCause().getMessage());
    }
  }

  private String executor(String name) {
    return executors.getOrDefault(name, "");
  }

  private record Running(
      Pairing.Pair pair, CompletableFuture<Serializable> order, Deadline patience) {}

  private List<Way> measure() throws InterruptedException {
    Pairing pairing = new Pairing(
        exams.keySet().stream().filter(name -> exam(name).canBeRead()).toList());
    List<Way> ways = new ArrayList<>();
    List<Running> running = new ArrayList<>();
    while (!pairing.isEmpty() || !running.isEmpty()) {
      desk.sweep(System.nanoTime());
      for (Pairing.Pair gone : pairing.remove(name -> gone(name) != null)) {
        String lost = gone(gone.from()) != null ? gone.from() : gone.to();
        ways.add(failed(gone, "not tried, as " + lost + " " + gone(lost)));
      }
      begin(pairing, running);
      for (Iterator<Running> each = running.iterator(); each.hasNext(); ) {
        Running one = each.next();
        if (one.order.isDone()) {
          Serializable result = result(one.order);
          ways.add(
              result instanceof WayMeasurement measured
                  ? new Way(one.pair.from(), one.pair.to(), measured)
                  : failed(one.pair, "the reader " + result));
          each.remove();
        } else if (one.patience.expired()) {
          String why = "did not end a measurement within " + WAY_MS / 1000 + " s";
          givenUp.put(one.pair.from(), why);
          ways.add(failed(one.pair, "the reader " + why));
          each.remove();
        }
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MS);
    }
    return ways;
  }

  private void begin(Pairing pairing, List<Running> running) {
    Set<String> busy = new HashSet<>();
    running.forEach(one -> busy.addAll(List.of(one.pair.from(), one.pair.to())));
    while (running.size() < options.atATime()) {
      Pairing.Pair pair = pairing.next(busy);
      if (pair == null) {
        return;
      }
      busy.addAll(List.of(pair.from(), pair.to()));
      progress.accept(pair.from() + " reads from " + pair.to());
      running.add(new Running(
          pair,
          desk.order(executor(pair.from()), new Command.Measure(exam(pair.to()))),
          Deadline.afterMs(WAY_MS)));
    }
  }

  private static Way failed(Pairing.Pair pair, String why) {
    return new Way(pair.from(), pair.to(), WayMeasurement.failed(Stage.READER, why));
  }

  private HostExam exam(String name) {
    HostExam exam = exams.get(name);
    if (exam == null) {
      throw new IllegalStateException(name + " was not examined");
    }
    return exam;
  }

  /** Why a participant takes part no more; null if it does. */
  private @Nullable String gone(String name) {
    String why = givenUp.get(name);
    return why != null ? why : seen(name).lost();
  }

  private Desk.Seen seen(String name) {
    return desk.seen().stream()
        .filter(seen -> seen.executorId().equals(executors.get(name)))
        .findFirst()
        .orElseThrow();
  }

  private List<Examined> examined() {
    List<Examined> all = new ArrayList<>();
    for (Map.Entry<String, String> participant : executors.entrySet()) {
      String name = participant.getKey();
      Desk.Seen seen = seen(name);
      all.add(new Examined(
          name,
          participant.getValue(),
          exams.get(name),
          seen.clockAheadMs(),
          seen.clockErrorMs(),
          counters.getOrDefault(name, Map.of()),
          gone(name)));
    }
    return all;
  }
}
