/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.node.Registration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that the service knows, each from the registration of its first executor until all of its
 * folders are gone. Any thread may call; its owner closes it.
 */
final class Applications implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Applications.class);

  private static final int MAX_APPLICATIONS = 1024;
  private static final int MAX_APPLICATIONS_OF_A_USER = 256;
  private static final int MAX_EXECUTORS = 1024;

  private final NodeDevice device;
  private final GrantStore store;
  private final Map<String, Application> applications = new ConcurrentHashMap<>();

  private Applications(NodeDevice device, GrantStore store) {
    this.device = device;
    this.store = store;
  }

  /** Knows the applications of which there are grants. */
  static Applications open(NodeDevice device, GrantStore store) throws IOException {
    Applications opened = new Applications(device, store);
    try {
      for (Grant grant : store.load()) {
        try {
          opened.applications.put(grant.appId(), new Application(device, grant));
          LOG.info("Application {} is known from before", grant);
        } catch (IOException | RuntimeException e) {
          LOG.error("Application {} is known from before, and cannot be served", grant, e);
        }
      }
      return opened;
    } catch (Throwable t) {
      opened.close();
      throw t;
    }
  }

  @Nullable
  Application find(String appId) {
    return applications.get(appId);
  }

  Collection<Application> all() {
    return List.copyOf(applications.values());
  }

  /**
   * An executor of an application has registered.
   *
   * @param uid of the executor, which owns the folders
   * @throws RefusedException if the application is that of another user, or has another key
   */
  synchronized void register(Registration registration, int uid) throws IOException {
    Application known = applications.get(registration.appId());
    if (known == null) {
      add(Grant.of(registration, uid));
      return;
    }
    Grant grant = known.grant();
    if (grant.uid() != uid) {
      throw new RefusedException("application " + grant.appId() + " is another user's");
    }
    if (!MessageDigest.isEqual(grant.key(), registration.key())
        || !MessageDigest.isEqual(grant.deviceSecret(), registration.deviceSecret())) {
      throw new RefusedException("application " + grant.appId()
          + " has another secret, or its id is taken until the folders of the former one are gone");
    }
    if (grant.executors().size() >= MAX_EXECUTORS) {
      throw new RefusedException(
          "application " + grant.appId() + " has " + MAX_EXECUTORS + " executors here, the most");
    }
    Grant more = grant.with(registration.folders());
    store.save(more);
    known.grant(more);
  }

  private void add(Grant grant) throws IOException {
    long ofUser = applications.values().stream()
        .filter(one -> one.grant().uid() == grant.uid())
        .count();
    if (applications.size() >= MAX_APPLICATIONS || ofUser >= MAX_APPLICATIONS_OF_A_USER) {
      throw new RefusedException(
          "there are %d applications, %d of them of user %d; the most are %d and %d"
              .formatted(
                  applications.size(),
                  ofUser,
                  grant.uid(),
                  MAX_APPLICATIONS,
                  MAX_APPLICATIONS_OF_A_USER));
    }
    Application added = new Application(device, grant);
    try {
      store.save(grant);
    } catch (Throwable t) {
      added.close();
      throw t;
    }
    applications.put(grant.appId(), added);
    LOG.info("Application {} has registered", grant);
  }

  /** Ends the applications whose folders have been deleted. */
  void endRemoved() {
    List<Application> ended = new ArrayList<>();
    synchronized (this) {
      for (Application application : applications.values()) {
        Grant left = application.grant().withoutRemoved();
        if (left.executors().isEmpty()) {
          LOG.info("Application {} has ended: its folders are gone", application.grant());
          forget(application);
          ended.add(application);
        } else {
          application.grant(left);
        }
      }
    }
    ended.forEach(Application::close); // which takes a while
  }

  /** Guarded by this. */
  private void forget(Application application) {
    try {
      store.delete(application.grant());
    } catch (IOException e) {
      LOG.warn("The grant of {} could not be deleted", application.grant(), e);
    }
    applications.remove(application.grant().appId());
  }

  /** Ends serving; the grants stay. */
  @Override
  public synchronized void close() {
    applications.values().forEach(Application::close);
    applications.clear();
  }
}
