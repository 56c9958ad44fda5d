/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.security.MessageDigest;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that have registered, and the jobs that have left a grant in their folders. What one user
 * can take is bounded: applications, executors of each, and the bytes of what is kept of them, in memory and on
 * disk. An executor for which there is no room takes that of the oldest of its application. No file system is
 * touched under the lock; workers look at the folders, one at a time of each user's. Any thread may call;
 * closed by its owner.
 */
final class Applications implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Applications.class);
  private static final int MAX_APPLICATIONS = 1024;
  private static final int MAX_APPLICATIONS_OF_A_USER = 256;
  private static final int MAX_EXECUTORS = 1024;
  private static final long MAX_BYTES = 64 << 20;
  private static final long MAX_BYTES_OF_A_USER = 16 << 20;

  /** Users whose folders can be looked at at a time. */
  private static final int LOOKERS = 4;

  /** Users in whose folders grants can be searched for at a time. */
  private static final int SEARCHERS = 4;

  /** Whoever asks for a job has proved nothing yet, and a folder that hangs keeps the searches in it waiting. */
  private static final int MAX_SEARCHES = 256;

  private final NodeDevice device;
  private final GrantStore store;
  private final JobFolders jobs;
  private final ThreadPoolExecutor searchers = Workers.poolOnDemand("grants", SEARCHERS);
  private final AtomicInteger searching = new AtomicInteger();
  private final PerPeerExecutor<String> searches = new PerPeerExecutor<>(searchers, 1);
  private final Map<String, Application> applications = new ConcurrentHashMap<>();
  private final ThreadPoolExecutor lookers = Workers.pool("folders", LOOKERS);
  private final PerPeerExecutor<Integer> lanes = new PerPeerExecutor<>(lookers, 1);

  /** Users whose folders are being looked at. */
  private final Set<Integer> lookedAt = ConcurrentHashMap.newKeySet();

  private Applications(NodeDevice device, GrantStore store, JobFolders jobs) {
    this.device = device;
    this.store = store;
    this.jobs = jobs;
  }

  /** Knows the applications of which there are grants. */
  static Applications open(NodeDevice device, GrantStore store, JobFolders jobs)
      throws IOException {
    Applications opened = new Applications(device, store, jobs);
    try {
      store.load(opened::know);
      return opened;
    } catch (Throwable t) {
      opened.close();
      throw t;
    }
  }

  private synchronized void know(Grant grant) {
    try {
      applications.put(grant.appId(), new Application(device, fitting(grant)));
      LOG.info("Application {} is known from before", grant);
    } catch (IOException | RuntimeException e) {
      LOG.error("Application {} is known from before, and cannot be served", grant, e);
    }
  }

  /**
   * The application, or the job ({@link JobName}), whose folders a worker searches for its grant if it is not known yet. Fails if
   * there is none.
   */
  CompletionStage<Application> find(String name) {
    Application known = applications.get(name);
    if (known != null) {
      return CompletableFuture.completedFuture(known);
    }
    JobName job = JobName.parse(name);
    if (job == null || jobs.isEmpty()) {
      return CompletableFuture.failedFuture(
          new ProtocolException("no executor of its application has registered here"));
    }
    if (searching.incrementAndGet() > MAX_SEARCHES) {
      searching.decrementAndGet();
      return CompletableFuture.failedFuture(new ProtocolException(
          "the grants of " + MAX_SEARCHES + " others are being searched for"));
    }
    CompletableFuture<Application> found = new CompletableFuture<>();
    searches.execute(job.user(), () -> {
      try {
        found.complete(enter(jobs.find(job)));
      } catch (IOException | RuntimeException | Error e) {
        found.completeExceptionally(e);
      } finally {
        searching.decrementAndGet();
      }
    });
    return found;
  }

  private synchronized Application enter(Grant grant) throws IOException {
    Application known = applications.get(grant.appId());
    if (known == null) {
      known = new Application(device, fitting(grant));
      applications.put(grant.appId(), known);
      LOG.info("Job {} has a grant", grant);
    }
    return known;
  }

  Collection<Application> all() {
    return List.copyOf(applications.values());
  }

  /**
   * An executor of an application has registered.
   *
   * @param uid of the executor, which owns the folders
   * @throws RefusedException if the application is that of another user, or has another key, or its user has no
   *     room left
   */
  void register(Registration registration, int uid) throws IOException {
    Grant more;
    synchronized (this) {
      Application known = applications.get(registration.appId());
      if (known == null) {
        more = fitting(Grant.of(registration, uid));
        applications.put(more.appId(), new Application(device, more));
        LOG.info("Application {} has registered", more);
      } else {
        check(known.grant(), registration, uid);
        more = fitting(known.grant().with(registration.folders()));
        known.grant(more);
      }
    }
    store.add(more); // an executor that is not told that it is known comes again
  }

  private static void check(Grant grant, Registration registration, int uid)
      throws RefusedException {
    if (grant.uid() != uid) {
      throw new RefusedException("application " + grant.appId() + " is another user's");
    }
    if (!MessageDigest.isEqual(grant.key(), registration.key())
        || !MessageDigest.isEqual(grant.deviceSecret(), registration.deviceSecret())) {
      throw new RefusedException("application " + grant.appId()
          + " has another secret, or its id is taken until the folders of the former one are gone");
    }
  }

  /** Guarded by this. The grant with as many of its executors, the newest first, as there is room for. */
  private Grant fitting(Grant wanted) throws RefusedException {
    int ofUser = 1;
    long bytes = 0;
    long bytesOfUser = 0;
    for (Application other : applications.values()) {
      if (other.grant().appId().equals(wanted.appId())) {
        continue;
      }
      bytes += other.grantBytes();
      if (other.grant().uid() == wanted.uid()) {
        ofUser++;
        bytesOfUser += other.grantBytes();
      }
    }
    Grant fitting = wanted.newest(
        MAX_EXECUTORS, Math.min(MAX_BYTES - bytes, MAX_BYTES_OF_A_USER - bytesOfUser));
    boolean isKnown = applications.containsKey(wanted.appId());
    if (fitting.executors().isEmpty()
        || (!isKnown
            && (applications.size() >= MAX_APPLICATIONS || ofUser > MAX_APPLICATIONS_OF_A_USER))) {
      throw new RefusedException(
          "there are %d applications, %d of them of user %d, which has taken %d of %d bytes; the most are %d and %d"
              .formatted(
                  applications.size(),
                  ofUser - 1,
                  wanted.uid(),
                  bytesOfUser,
                  MAX_BYTES_OF_A_USER,
                  MAX_APPLICATIONS,
                  MAX_APPLICATIONS_OF_A_USER));
    }
    return fitting;
  }

  /**
   * Has workers end the applications whose folders have been deleted, and look after the others. A file system that
   * hangs, or requests that do not end because of it, keep those of its user alone.
   */
  void lookThrough() {
    applications.values().stream()
        .collect(Collectors.groupingBy(application -> application.grant().uid()))
        .forEach((uid, own) -> {
          if (lookedAt.add(uid)) { // else a file system of that user's hangs
            lanes.execute(uid, () -> {
              try {
                own.forEach(this::lookAt);
              } finally {
                lookedAt.remove(uid);
              }
            });
          }
        });
  }

  /** Has jobs give up memory for which others wait. */
  void giveWay() {
    applications.values().forEach(Application::giveWay);
  }

  /** One that fails, as when the system refuses it a thread, keeps nobody from looking at the others. */
  private void lookAt(Application application) {
    try {
      endIfRemoved(application);
      application.look();
    } catch (RuntimeException | Error e) {
      LOG.error("Application {} could not be looked at", application.grant(), e);
    }
  }

  private void endIfRemoved(Application application) {
    List<OutputFolders> gone = application.grant().removed();
    if (gone.isEmpty()) {
      return;
    }
    Grant left;
    synchronized (this) {
      left = application.grant().without(gone);
      application.grant(left);
      if (!left.executors().isEmpty() || !applications.remove(left.appId(), application)) {
        return;
      }
    }
    LOG.info("Application {} has ended: its folders are gone", left);
    if (!left.isOfJob()) {
      deleteGrant(left);
    }
    application.close(); // which takes a while
  }

  private void deleteGrant(Grant ended) {
    try {
      store.delete(ended);
      Application again = applications.get(ended.appId());
      if (again != null) { // it has registered meanwhile
        store.add(again.grant());
      }
    } catch (IOException e) {
      LOG.warn("The grant of {} could not be deleted", ended, e);
    }
  }

  /** Ends serving; the grants stay. */
  @Override
  public void close() {
    lookers.shutdownNow();
    searchers.shutdownNow();
    applications.values().forEach(Application::close);
    applications.clear();
  }
}
