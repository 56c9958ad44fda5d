/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The verbs of this process, bound to one provider at a time. The binding is made once per loaded
 * plugin; the C libraries below are never unloaded. Thread safe.
 */
public final class Verbs {
  private static @Nullable Verbs bound;

  private final Provider provider;

  private Verbs(Provider provider) {
    this.provider = provider;
  }

  /**
   * Loads the native libraries, extracted below {@code java.io.tmpdir}, and binds the provider. A
   * second provider in the same process is refused; for the same provider the same object is
   * returned.
   */
  public static synchronized Verbs open(Provider provider) throws VerbsException {
    if (bound == null) {
      bound = bind(provider, NativeDirectory.DEFAULT);
    } else if (bound.provider != provider) {
      throw new VerbsException(
          "this process already uses the " + bound.provider + " verbs; " + provider
              + " needs another",
          "Verbs.open",
          Errno.EBUSY);
    }
    return bound;
  }

  /**
   * Binds {@code provider} in place of another that is bound. It is meant for a process that finds
   * its hardware unusable: no object of the former provider may be open any more.
   */
  public static synchronized Verbs openInstead(Provider provider, NativeDirectory nativeDir)
      throws VerbsException {
    Verbs current = bound;
    if (current == null || current.provider != provider) {
      current = bind(provider, nativeDir);
      bound = current;
    }
    return current;
  }

  private static Verbs bind(Provider provider, NativeDirectory nativeDir) throws VerbsException {
    NativeLibrary.load(nativeDir);
    if (provider == Provider.SOFT) {
      NativeLibrary.bindSoftDevice(nativeDir);
    } else {
      NativeLibrary.bindSystem();
    }
    return new Verbs(provider);
  }

  /** Returns whether {@link #open} has succeeded. From then on DiSNI's own classes work. */
  public static synchronized boolean isOpen() {
    return bound != null;
  }

  public Provider provider() {
    return provider;
  }

  /** Returns every device with its ports and GIDs; fails if one of them cannot be opened. */
  public List<DeviceInfo> devices() throws VerbsException {
    List<DeviceInfo> devices = new ArrayList<>();
    for (String name : Natives.deviceNames()) {
      devices.add(device(name));
    }
    return devices;
  }

  /** Returns the named device with its ports and GIDs; other devices need not work. */
  public DeviceInfo device(String name) throws VerbsException {
    long context = Natives.openDevice(name);
    try {
      return DeviceQuery.read(context);
    } finally {
      NativeObject.check("ibv_close_device", Natives.closeDevice(context));
    }
  }

  /**
   * Gives the software device the secret that both ends of a connection must prove. To be called
   * before the first queue pair or listener. With hardware the call fails, because there is no such
   * secret.
   */
  public void setSecret(byte[] secret) throws VerbsException {
    requireSoft("softverbs_set_secret");
    NativeObject.check("softverbs_set_secret", Natives.setSecret(secret));
  }

  /**
   * Has the software device accept peers that prove this secret, too, and use it with them. At any time, by
   * any thread; what is accepted n times must be forgotten n times. With hardware the call fails.
   */
  public void acceptSecret(byte[] secret) throws VerbsException {
    requireSoft("softverbs_accept_secret");
    NativeObject.check("softverbs_accept_secret", Natives.acceptSecret(secret));
  }

  /** Accepts the secret no more; connections stay. Fails if it was not accepted. */
  public void forgetSecret(byte[] secret) throws VerbsException {
    requireSoft("softverbs_forget_secret");
    NativeObject.check("softverbs_forget_secret", Natives.forgetSecret(secret));
  }

  /** Returns the totals of the software device; fails with hardware. */
  public SoftCounters softCounters() throws VerbsException {
    requireSoft("softverbs_get_counters");
    long[] words = new long[SoftCounters.FIELDS];
    Natives.softCounters(words);
    return SoftCounters.of(words);
  }

  private void requireSoft(String call) throws VerbsException {
    if (provider != Provider.SOFT) {
      throw VerbsException.of(call, Errno.EOPNOTSUPP);
    }
  }
}
