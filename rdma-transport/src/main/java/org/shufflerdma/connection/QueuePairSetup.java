/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.LinkLayer;
import org.shufflerdma.verbs.PortInfo;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.QueuePairLimits;
import org.shufflerdma.verbs.QueuePairState;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one place where the queue pairs of connections get their attributes, on both sides: from the
 * settings, from what the device reports, and from what the peer allows. A peer may READ from the
 * side that it connected to, and nothing else; nobody may do anything to a side that connects.
 * Immutable but for what it has logged; any thread may call.
 */
public final class QueuePairSetup {
  private static final Logger LOG = LoggerFactory.getLogger(QueuePairSetup.class);

  /** 1.07 s: eight tries are over before {@code peerLostTimeout} is. */
  private static final int USUAL_ACK_TIMEOUT = 18;

  /** The exponent that a timeout adds to the device's own delay: four times as long. */
  private static final int ACK_DELAY_MARGIN = 2;

  private static final int MAX_ACK_TIMEOUT = 31;
  private static final int MAX_RD_ATOMIC_IN_CM = 255;
  private static final int REMOTE =
      Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC | Access.MW_BIND;

  private final ConnectionSettings settings;
  private final DeviceInfo device;
  private final QueuePairLimits readsOnly;
  private final QueuePairLimits servesOnly;
  private final AtomicBoolean initiatorLogged = new AtomicBoolean();
  private final AtomicBoolean responderLogged = new AtomicBoolean();

  public QueuePairSetup(ConnectionSettings settings, DeviceInfo device) {
    this.settings = settings;
    this.device = device;
    this.readsOnly = new QueuePairLimits(
        Access.NONE, settings.mtuBytes(), atMostSetting(device.maxQpInitRdAtom()), 0);
    this.servesOnly = new QueuePairLimits(
        Access.REMOTE_READ, settings.mtuBytes(), 0, atMostSetting(device.maxQpRdAtom()));
  }

  private int atMostSetting(int deviceMax) {
    return Math.min(MAX_RD_ATOMIC_IN_CM, Math.min(settings.maxRdAtomic(), deviceMax));
  }

  /**
   * Sets the options of an id that has a device, before its route is resolved or before it is
   * accepted.
   */
  public void prepare(ConnectionId id) throws VerbsException {
    Integer typeOfService = settings.typeOfService();
    if (typeOfService != null) {
      id.setTypeOfService(typeOfService);
    }
    Integer ackTimeout = settings.ackTimeout();
    if (ackTimeout != null) {
      setAckTimeout(id, ackTimeout);
    } else if (isRoce(id.port())) {
      preferAckTimeout(id, Math.max(USUAL_ACK_TIMEOUT, device.ackDelay() + ACK_DELAY_MARGIN));
    }
  }

  private void setAckTimeout(ConnectionId id, int exponent) throws VerbsException {
    try {
      id.setAckTimeout(exponent);
    } catch (VerbsException e) {
      throw VerbsException.of(
          e.call(),
          e.errno(),
          "; before Linux 5.1 " + settings.keyPrefix() + "ackTimeout must be auto");
    }
  }

  /** InfiniBand's subnet manager knows how long packets live; on RoCE the kernel guesses. */
  private boolean isRoce(int number) {
    for (PortInfo port : device.ports()) {
      if (port.port() == number) {
        return port.linkLayer() == LinkLayer.ETHERNET;
      }
    }
    return false;
  }

  private static void preferAckTimeout(ConnectionId id, int exponent) {
    try {
      id.setAckTimeout(Math.min(exponent, MAX_ACK_TIMEOUT));
    } catch (VerbsException e) {
      LOG.debug("The kernel's own ACK timeout stays", e); // before 5.1 it cannot be set
    }
  }

  public ConnectParameters request(byte[] privateData) {
    return new ConnectParameters(
        privateData,
        0,
        readsOnly.initiatorDepth(),
        settings.retryCount(),
        settings.rnrRetryCount());
  }

  /**
   * What a request is accepted with.
   *
   * @param wantedResources the READs that the peer would have in progress
   */
  public ConnectParameters answer(byte[] privateData, int wantedResources) {
    int resources = Math.min(wantedResources, servesOnly.responderResources());
    return new ConnectParameters(
        privateData, resources, 0, settings.retryCount(), settings.rnrRetryCount());
  }

  /** The peer has answered: from here on READs can be posted. */
  public QueuePairAttributes initiatorReady(QueuePair queuePair) throws VerbsException {
    return ready(queuePair, readsOnly, "to", initiatorLogged);
  }

  /** The peer will be answered: from here on it can READ. */
  public QueuePairAttributes responderReady(QueuePair queuePair) throws VerbsException {
    return ready(queuePair, servesOnly, "from", responderLogged);
  }

  private QueuePairAttributes ready(
      QueuePair queuePair, QueuePairLimits limits, String direction, AtomicBoolean logged)
      throws VerbsException {
    queuePair.toReady(limits);
    QueuePairAttributes attributes = queuePair.attributes();
    int access = attributes.access() & REMOTE;
    if (access != limits.access() || attributes.state() != QueuePairState.RTS) {
      throw new IllegalStateException("queue pair %d is %s and allows 0x%x to its peer, not 0x%x"
          .formatted(queuePair.number(), attributes.state(), access, limits.access()));
    }
    if (logged.compareAndSet(false, true)) {
      LOG.info("First connection {} a peer: {}", direction, describe(attributes));
    } else if (LOG.isDebugEnabled()) { // the text costs a system call
      LOG.debug("Connection {} a peer: {}", direction, describe(attributes));
    }
    return attributes;
  }

  private String describe(QueuePairAttributes a) {
    return String.format(
        Locale.ROOT,
        "MTU %d, type of service %d, ACK timeout %.0f ms (%d), %d retries, %d RNR retries,"
            + " READs in progress: %d of this side, %d of the peer, %s",
        a.pathMtuBytes(),
        a.trafficClass(),
        ConnectionSettings.ackTimeoutMs(a.ackTimeout()),
        a.ackTimeout(),
        a.retryCount(),
        a.rnrRetryCount(),
        a.maxRdAtomic(),
        a.maxDestRdAtomic(),
        a.gidIndex() < 0
            ? "port " + a.port()
            : "GID " + a.gidIndex() + GidType.of(device.name(), a.port(), a.gidIndex())
                + " of port " + a.port());
  }
}
