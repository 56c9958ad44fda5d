/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.AddressChoice;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells failures to connect that are due to rails from others, where executors use one of several rails each: the peer is
 * in another network, and no way leads to its address, it does not answer though its host does, or its host has no way
 * back. Any thread may call.
 */
final class RailReach {
  private static final Logger LOG = LoggerFactory.getLogger(RailReach.class);

  private static final Set<PeerFailure> DUE_TO_ROUTES =
      EnumSet.of(PeerFailure.ADDRESS, PeerFailure.TIMEOUT, PeerFailure.NO_WAY_BACK);

  private final TransportSettings settings;
  private final @Nullable AddressChoice ownNetwork;
  private final AtomicBoolean isTold = new AtomicBoolean();

  private RailReach(TransportSettings settings, @Nullable AddressChoice ownNetwork) {
    this.settings = settings;
    this.ownNetwork = ownNetwork;
  }

  static RailReach of(TransportSettings settings) {
    InetAddress own = settings.bindAddress().getAddress();
    return new RailReach(settings, settings.usesOneOfSeveralRails() ? networkOf(own) : null);
  }

  /** Null if no interface has the address. */
  private static @Nullable AddressChoice networkOf(InetAddress own) {
    try {
      NetworkInterface its = NetworkInterface.getByInetAddress(own);
      if (its != null) {
        for (InterfaceAddress address : its.getInterfaceAddresses()) {
          if (address.getAddress().equals(own)) {
            return AddressChoice.of(own.getHostAddress() + "/" + address.getNetworkPrefixLength());
          }
        }
      }
    } catch (SocketException | IllegalArgumentException e) {
      LOG.debug("The network of {} is not known", own, e);
    }
    return null;
  }

  /** Returns the failure, or the same as one of rails. */
  NoConnectionException judge(PeerId peer, NoConnectionException why) {
    boolean isDueToRails = settings.usesOneOfSeveralRails()
        && DUE_TO_ROUTES.contains(why.failure())
        && isInAnotherNetwork(peer);
    if (!isDueToRails) {
      return why;
    }
    if (isTold.compareAndSet(false, true)) {
      LOG.warn(
          "The rail of this executor, at {}, does not reach that of {}, whose blocks come by TCP. Let all rails reach one"
              + " another by routes, or name one of them in {}; `bin/verify-hardware` tries each to each",
          settings.bindAddress().getAddress().getHostAddress(),
          peer,
          settings.key("device"));
    }
    return why.ofRails(peer);
  }

  private boolean isInAnotherNetwork(PeerId peer) {
    try {
      return ownNetwork != null
          && !ownNetwork.accepts(InetAddress.getByName(peer.endpoint().host()), "");
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
