/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.security.IntermediateEncryptedStream;
import org.apache.hadoop.util.Time;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.mapreduce.HostOutputs;
import org.shufflerdma.mapreduce.JobGrant;
import org.shufflerdma.mapreduce.JobSize;
import org.shufflerdma.mapreduce.LocalOutputs;
import org.shufflerdma.mapreduce.NodeServiceClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A fetcher that has map outputs of other hosts from the node service, and reads those of its own host from their files. What neither
 * brings, Hadoop's own {@link Fetcher} fetches by HTTP, with all that it does about failures; trouble of RDMA never counts as
 * one. The map outputs of its reducer that were wrong in any way are in a set that its fetchers share, and go by HTTP from then on.
 */
final class RdmaFetcher<K, V> extends Fetcher<K, V> {
  private static final Logger LOG = LoggerFactory.getLogger(RdmaFetcher.class);
  private static final String COUNTERS = "Shuffle RDMA";

  /** As many as Hadoop's own fetcher asks for. */
  private static final int MOST_AT_ONCE = 20;

  /** Reasons that are over soon: of memory, and of the service of the other host. */
  private static final Set<String> NO_ROOM =
      new HashSet<>(Arrays.asList("POOL", "SHARE", "SERVICE"));

  /** What has come of a host's outputs. */
  private enum Outcome {
    /** What is left, if anything, is for Hadoop's own fetcher. */
    DONE,
    /** The reducer has no memory for more now. */
    WAIT,
    /** The reducer cannot go on, and has been told. */
    LOCAL_ERROR
  }

  private final JobConf conf;
  private final JobSize size;
  private final Set<TaskAttemptID> byHttp;
  private final HostOutputs service;
  private final LocalOutputs local;

  /** Why the service has not brought outputs of this turn that another turn may find there. */
  private final Map<TaskAttemptID, String> missing = new HashMap<>();

  /** What is read and cannot be taken is read again, so a reducer that had no memory asks for less. */
  private int atOnce = MOST_AT_ONCE;

  RdmaFetcher(
      ShuffleConsumerPlugin.Context<K, V> context,
      ShuffleSchedulerImpl<K, V> scheduler,
      MergeManager<K, V> merger,
      ShuffleClientMetrics metrics,
      ExceptionReporter exceptionReporter,
      JobGrant grant,
      int port,
      JobSize size,
      Set<TaskAttemptID> byHttp) {
    super(
        context.getJobConf(),
        context.getReduceId(),
        scheduler,
        merger,
        context.getReporter(),
        metrics,
        exceptionReporter,
        context.getReduceTask().getShuffleSecret());
    this.conf = context.getJobConf();
    this.size = size;
    this.byHttp = byHttp;
    this.service = new HostOutputs(grant, port, reduce);
    this.local = new LocalOutputs(conf);
  }

  @Override
  protected void copyFromHost(MapHost host) throws IOException {
    String name = host.getHostName().replaceFirst(":[0-9]*$", "");
    if (!local.isHere(name)) {
      if (!service.isOpen()) {
        super.copyFromHost(host);
        return;
      }
      if (size.isSmall()) {
        Set<TaskAttemptID> maps = new LinkedHashSet<>(scheduler.getMapsForHost(host));
        maps.forEach(map -> leave(map, "SMALL_JOB"));
        copyByHttp(host, maps);
        return;
      }
    }
    missing.clear();
    Set<TaskAttemptID> left = new LinkedHashSet<>(scheduler.getMapsForHost(host));
    Set<TaskAttemptID> toHttp;
    try {
      toHttp = copyWithoutHttp(host, name, left);
    } finally {
      for (TaskAttemptID map : left) {
        scheduler.putBackKnownMapOutput(host, map);
      }
    }
    if (!toHttp.isEmpty()) {
      missing.keySet().retainAll(toHttp);
      missing.values().forEach(reason -> count("HTTP_" + reason, 1));
      copyByHttp(host, toHttp);
    }
  }

  /** Hadoop's own fetcher takes whatever is known of the host, so the other outputs are kept from it. */
  private void copyByHttp(MapHost host, Set<TaskAttemptID> maps) throws IOException {
    Set<TaskAttemptID> others = new LinkedHashSet<>(host.getAndClearKnownMaps());
    others.removeAll(maps);
    maps.forEach(host::addKnownMap);
    try {
      super.copyFromHost(host);
    } finally {
      others.forEach(host::addKnownMap);
    }
  }

  /** Ends a wait for the node service, too, as Hadoop's fetcher closes its connection here. */
  @Override
  public void interrupt() {
    try {
      service.end();
    } catch (IOException e) {
      LOG.debug("The connection to the node service could not be closed", e);
    }
    super.interrupt();
  }

  /**
   * Takes from {@code left} what it has copied.
   *
   * @return those of the rest that are for Hadoop's own fetcher now; the others are for another turn
   */
  private Set<TaskAttemptID> copyWithoutHttp(MapHost host, String name, Set<TaskAttemptID> left)
      throws IOException {
    List<TaskAttemptID> wanted = new ArrayList<>(left);
    wanted.removeAll(byHttp);
    Outcome outcome = Outcome.DONE;
    List<TaskAttemptID> later = new ArrayList<>();
    if (!wanted.isEmpty() && local.isHere(name)) {
      outcome = copyLocal(host, wanted, left);
    } else if (!wanted.isEmpty()) {
      later = wanted.subList(Math.min(atOnce, wanted.size()), wanted.size());
      outcome = copyFromService(host, name, wanted.subList(0, wanted.size() - later.size()), left);
    }
    if (outcome != Outcome.DONE) {
      return new HashSet<>();
    }
    Set<TaskAttemptID> toHttp = new LinkedHashSet<>(left);
    toHttp.removeAll(later);
    return toHttp;
  }

  private Outcome copyLocal(MapHost host, List<TaskAttemptID> wanted, Set<TaskAttemptID> left)
      throws IOException {
    for (TaskAttemptID map : wanted) {
      try {
        IndexRecord at = local.find(map.toString(), reduce);
        Outcome outcome;
        try (InputStream bytes = local.open(map.toString(), at)) {
          outcome = copy(host, map, bytes, at.partLength, at.rawLength, left, "LOCAL_BYTES");
        }
        if (outcome != Outcome.DONE) {
          return outcome;
        }
      } catch (IOException
          | RuntimeException
          | LinkageError e) { // SecureIOUtils fails to load on a secure cluster without libhadoop
        LOG.info("The output of {} is not read from its file: {}", map, e.toString());
        leave(map, "LOCAL");
      }
    }
    return Outcome.DONE;
  }

  private Outcome copyFromService(
      MapHost host, String name, List<TaskAttemptID> wanted, Set<TaskAttemptID> left)
      throws IOException {
    boolean isOver = false;
    try {
      List<String> names = new ArrayList<>(wanted.size());
      for (TaskAttemptID map : wanted) {
        names.add(map.toString());
      }
      service.ask(name, names);
      for (int answers = 0; answers < wanted.size(); answers++) {
        NodeServiceClient.Answer answer = service.next();
        if (answer.output() >= wanted.size()) {
          throw new IOException("an answer about output " + answer.output());
        }
        TaskAttemptID map = wanted.get(answer.output());
        String refusal = answer.refusal();
        if (refusal != null) {
          refused(map, refusal.toUpperCase(Locale.ROOT));
          continue;
        }
        Outcome outcome = copy(
            host,
            map,
            service.open(answer),
            answer.lengthBytes(),
            answer.rawBytes(),
            left,
            "BYTES");
        if (outcome != Outcome.DONE) {
          atOnce = Math.max(1, answers);
          return outcome;
        }
        service.release(answer);
      }
      atOnce = Math.min(MOST_AT_ONCE, 2 * atOnce);
      service.endRequest();
      isOver = true;
    } catch (IOException e) {
      LOG.info("The node service brings no map outputs of {}: {}", name, e.toString());
      if (!service.hasEnded()) {
        wanted.stream()
            .filter(map -> left.contains(map) && !byHttp.contains(map))
            .forEach(map -> missing.putIfAbsent(map, "SERVICE"));
      }
      service.leaveAlone();
      isOver = true;
    } finally {
      if (!isOver) { // outputs that nobody takes would keep memory from others
        service.close();
      }
    }
    return Outcome.DONE;
  }

  /** Where there was only no room, another attempt may find some. */
  private void refused(TaskAttemptID map, String reason) {
    if (NO_ROOM.contains(reason)) {
      missing.put(map, reason);
    } else {
      leave(map, reason);
    }
  }

  private void leave(TaskAttemptID map, String reason) {
    if (byHttp.add(map)) {
      count("HTTP_" + reason, 1);
    }
  }

  /** Takes one output; {@link Outcome#DONE} if the next one may be taken. */
  private Outcome copy(
      MapHost host,
      TaskAttemptID map,
      InputStream bytes,
      long lengthBytes,
      long rawBytes,
      Set<TaskAttemptID> left,
      String counter)
      throws IOException {
    long startMs = Time.monotonicNow();
    @Nullable MapOutput<K, V> output = null;
    CountedOutput<K, V> taken;
    long length = lengthBytes - CryptoUtils.cryptoPadding(conf);
    try {
      InputStream plain =
          IntermediateEncryptedStream.wrapIfNecessary(conf, bytes, lengthBytes, null);
      long raw = rawBytes - CryptoUtils.cryptoPadding(conf);
      if (length < 0 || raw < 0) {
        leave(map, "LENGTH");
        return Outcome.DONE;
      }
      try {
        output = merger.reserve(map, raw, id);
      } catch (IOException e) {
        scheduler.reportLocalError(e);
        return Outcome.LOCAL_ERROR;
      }
      if (output == null) {
        return Outcome.WAIT;
      }
      output.shuffle(host, plain, length, raw, metrics, reporter);
      taken = new CountedOutput<>(output);
      scheduler.copySucceeded(map, host, length, startMs, Time.monotonicNow(), taken);
    } catch (NodeServiceClient.LostOutputsException e) {
      abort(output);
      throw e;
    } catch (InternalError
        | LinkageError
        | Exception e) { // codecs throw InternalError, as Hadoop's fetcher knows
      LOG.info("The output of {} could not be taken, and comes by HTTP: {}", map, e.toString());
      abort(output);
      leave(map, "WRONG");
      return Outcome.DONE;
    }
    left.remove(map);
    metrics.successFetch();
    if (taken.isCommitted()) {
      count(counter, length);
      count("OUTPUTS", 1);
    }
    return Outcome.DONE;
  }

  private static void abort(@Nullable MapOutput<?, ?> output) {
    if (output != null) {
      output.abort();
    }
  }

  /** A job may have as many counters as {@code mapreduce.job.counters.max} already. */
  private void count(String name, long more) {
    try {
      reporter.incrCounter(COUNTERS, name, more);
    } catch (RuntimeException e) {
      LOG.debug("{} of {} is not counted", more, name, e);
    }
  }
}
