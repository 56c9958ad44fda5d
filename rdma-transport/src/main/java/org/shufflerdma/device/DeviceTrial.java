/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;

/**
 * A device as an executor would choose it, and put to the executor's own test, without Spark. For
 * programs that judge devices; nothing of it is in use while applications run.
 *
 * @param deviceName null is the software device
 * @param hardwareName the same with its port, where the choice was of one
 * @param address what the executor would listen on
 * @param pins whether registered memory counts as locked
 * @param outputBytes how much the executor would register of map outputs and descriptors
 */
public record DeviceTrial(
    Verbs verbs,
    @Nullable String deviceName,
    @Nullable String hardwareName,
    InetAddress address,
    TransportSettings transport,
    boolean pins,
    long outputBytes) {
  private static final String EXECUTOR = "trial";
  private static final byte[] SECRET = "a secret of nobody".getBytes(StandardCharsets.UTF_8);

  /**
   * Takes the best device that the settings allow and that has an address, of several rails the first by name; hardware
   * that is not there is no device. With {@code auto} an executor goes on where that device then fails its
   * test; a trial judges it.
   */
  public static DeviceTrial choose(RdmaSettings settings) throws IOException {
    return choose(
        settings, DeviceChoice.HARDWARE, ownAddress(System.getenv("SPARK_LOCAL_IP")), SECRET);
  }

  /**
   * The same.
   *
   * @param hardware where the kernel lists RDMA devices
   * @param ownAddress what Spark calls this process's host
   * @param deviceSecret what the software devices of peers have to know; a process has one
   */
  public static DeviceTrial choose(
      RdmaSettings settings, Path hardware, InetAddress ownAddress, byte[] deviceSecret)
      throws IOException {
    List<String> refused = new ArrayList<>();
    List<DeviceChoice> choices = new ArrayList<>();
    try {
      choices.addAll(DeviceChoice.of(settings, hardware, ownAddress));
      if (!settings.rails().isEmpty()) { // the same on each host that is tried
        choices.sort(Comparator.comparing(DeviceChoice::hardwareName));
      }
      for (DeviceChoice choice : choices) {
        if (choice.hardwareName() == null && !"soft".equals(settings.device())) {
          refused.add(choice.reason());
          break;
        }
        try {
          return of(settings, choice, deviceSecret);
        } catch (IOException | RdmaUnavailableException e) {
          refused.add(String.valueOf(e.getMessage()));
        }
      }
    } catch (RdmaUnavailableException e) {
      throw new IOException(e.getMessage(), e);
    } finally {
      for (DeviceChoice choice : choices) {
        choice.use().close(); // a trial is no executor
      }
    }
    throw new IOException(String.join("; ", refused));
  }

  /** One of several rails of this host, and the address at which an executor would listen on it. */
  public record Rail(String name, InetAddress address) {}

  /**
   * Returns the rails among which an executor would choose; empty if the settings do not name several devices.
   *
   * @param refused is told why a rail cannot be used, and which
   */
  public static List<Rail> rails(RdmaSettings settings, Consumer<String> refused)
      throws IOException {
    List<Rail> rails = new ArrayList<>();
    List<DeviceChoice> choices = List.of();
    if (!settings.rails().isEmpty()) {
      try {
        InetAddress ownAddress = ownAddress(System.getenv("SPARK_LOCAL_IP"));
        choices = DeviceChoice.of(settings, DeviceChoice.HARDWARE, ownAddress);
        for (DeviceChoice choice : choices) {
          String name = String.valueOf(choice.hardwareName());
          try {
            DeviceChoice.Bound bound = choice.bind(settings);
            rails.add(new Rail(name, bound.address()));
            bound.use().close();
          } catch (IOException | RdmaUnavailableException e) {
            refused.accept(name + ": " + e.getMessage());
          }
        }
      } catch (RdmaUnavailableException e) {
        throw new IOException(e.getMessage(), e);
      }
    }
    for (String named : settings.rails()) {
      if (choices.stream().noneMatch(choice -> choice.isOf(named))) {
        refused.accept(named + ": no active port");
      }
    }
    rails.sort(Comparator.comparing(Rail::name));
    return rails;
  }

  private static DeviceTrial of(RdmaSettings settings, DeviceChoice choice, byte[] deviceSecret)
      throws IOException, RdmaUnavailableException {
    DeviceChoice.Bound bound = choice.bind(settings);
    if (bound.verbs().provider() == Provider.SOFT) {
      bound.verbs().setSecret(deviceSecret);
    }
    MemoryPlan plan = MemoryPlan.of(settings, ExecutorMemory.withoutSpark(), bound.pins());
    return new DeviceTrial(
        bound.verbs(),
        bound.deviceName(),
        choice.hardwareName(),
        bound.address(),
        TransportSettings.of(settings, plan.poolBytes(), bound.address()),
        bound.pins(),
        plan.outputBytes());
  }

  /**
   * What an executor does before it trusts a device: connects to itself, with handshake and test
   * READ, and fetches a registered file's block, which must have the right bytes.
   *
   * @param directory where the file is made
   */
  public void prove(RdmaSettings settings, Path directory) throws IOException {
    try (RdmaTransport opened = RdmaTransport.open(
            transport, deviceName, new LocalIdentity("trial", EXECUTOR, SECRET));
        RegisteredArena arena = new RegisteredArena(
            opened.protectionDomain(), new RegistrationBudget(outputBytes, "a trial"));
        MapOutputRegistry registry = new MapOutputRegistry(
            opened.protectionDomain(),
            arena,
            new DescriptorSeal(opened.identity().key(DescriptorSeal.PURPOSE)),
            settings.withdrawGraceMs(),
            System::nanoTime);
        BlockFetcher fetcher =
            new BlockFetcher(opened, FetchSettings.of(1, settings.withdrawGraceMs()))) {
      LoopbackCheck.run(opened, registry, fetcher, EXECUTOR, directory);
    }
  }

  /**
   * What Spark calls a host, unless it is told another name: where the host's name means a loopback
   * address, as on Debian, an interface's.
   *
   * @param sparkLocalIp from the environment; null if it is not set
   */
  static InetAddress ownAddress(@Nullable String sparkLocalIp) throws IOException {
    if (sparkLocalIp != null && !sparkLocalIp.isEmpty()) {
      try {
        return InetAddress.getByName(sparkLocalIp);
      } catch (UnknownHostException e) {
        throw new IOException("SPARK_LOCAL_IP=" + sparkLocalIp + " is no address; correct it", e);
      }
    }
    return LocalAddress.own();
  }
}
