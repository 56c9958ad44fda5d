/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.security.MessageDigest;
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
        opened.applications.put(grant.appId(), new Application(device, grant));
        LOG.info("Application {} is known from before", grant);
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
   * @param owner user of the executor, who owns the folders
   * @throws RefusedException if the application is that of another user, or has another key
   */
  synchronized void register(Registration registration, String owner) throws IOException {
    Application known = applications.get(registration.appId());
    if (known == null) {
      Grant grant = Grant.of(registration, owner);
      store.save(grant);
      applications.put(grant.appId(), new Application(device, grant));
      LOG.info("Application {} has registered", grant);
      return;
    }
    Grant grant = known.grant();
    if (!grant.owner().equals(owner)) {
      throw new RefusedException("application " + grant.appId() + " is another user's");
    }
    if (!MessageDigest.isEqual(grant.key(), registration.key())
        || !MessageDigest.isEqual(grant.deviceSecret(), registration.deviceSecret())) {
      throw new RefusedException("application " + grant.appId() + " has another secret");
    }
    Grant more = grant.with(registration.folders());
    store.save(more);
    known.grant(more);
  }

  /** Ends the applications whose folders have been deleted. */
  synchronized void endRemoved() {
    for (Application application : applications.values()) {
      Grant left = application.grant().withoutRemoved();
      if (left.executors().isEmpty()) {
        LOG.info("Application {} has ended: its folders are gone", application.grant());
        end(application);
      } else {
        application.grant(left);
      }
    }
  }

  private void end(Application application) {
    try {
      store.delete(application.grant());
    } catch (IOException e) {
      LOG.warn("The grant of {} could not be deleted", application.grant(), e);
    }
    applications.remove(application.grant().appId());
    application.close();
  }

  /** Ends serving; the grants stay. */
  @Override
  public synchronized void close() {
    applications.values().forEach(Application::close);
    applications.clear();
  }
}
