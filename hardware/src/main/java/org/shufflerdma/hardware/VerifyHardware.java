/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.MemlockLimit;
import org.shufflerdma.verbs.PortInfo;
import org.shufflerdma.verbs.PortState;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.QueuePairAttributes;

/**
 * The program behind bin/verify-hardware: tests whether the plugin can use a device with files of a
 * directory, measures what that costs, and reports it. Exit status 0: proven; 1: not proven; 2: the
 * caller can put something right.
 */
public final class VerifyHardware {
  private static final long MEBIBYTE = 1 << 20;
  private static final long LEAST_BYTES = 4 * MEBIBYTE;

  /** The file and two anonymous regions of its size, and as much again for other processes. */
  private static final int SHARES_OF_MEMORY = 6;

  private final Options options;
  private final RdmaSettings settings;
  private final PrintStream progress;
  private final HostFacts host = new HostFacts(Path.of("/"));
  private final Report report = new Report();

  private VerifyHardware(Options options, RdmaSettings settings, PrintStream progress) {
    this.options = options;
    this.settings = settings;
    this.progress = progress;
  }

  public static void main(String[] args) throws IOException, ReflectiveOperationException {
    if (CarriedLogging.isNeeded()) {
      CarriedLogging.runMain(VerifyHardware.class, args);
    } else {
      System.exit(run(args, System.out, System.err));
    }
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    try {
      Options options = Options.parse(args);
      RdmaSettings settings = RdmaSettings.from(options.settings(), Options.PREFIX);
      VerifyHardware run = new VerifyHardware(options, settings, err);
      run.verify();
      // Whatever happened: what failed is what a bug report needs.
      out.print(run.report.text());
      Files.writeString(options.json(), run.report.json());
      err.println("verify-hardware: the report for a program is " + options.json());
      err.println("verify-hardware: "
          + (run.report.proven()
              ? "everything that the plugin needs is proven"
              : "NOT everything that the plugin needs is proven"));
      return run.report.proven() ? 0 : 1;
    } catch (RefusedException | InvalidSettingException e) {
      err.println("verify-hardware: " + e.getMessage());
      return 2;
    } catch (IOException e) {
      err.println("verify-hardware: " + e);
      return 1;
    }
  }

  private void verify() throws IOException, RefusedException {
    refuseBadPlaces();
    DeviceTrial trial = choose();
    LockedMemory locked = new LockedMemory(MemlockLimit.read(), settings);
    boolean soft = trial.verbs().provider() == Provider.SOFT;
    long size = affordableSize();
    if (!soft) {
      locked.refuseTooLittle(size);
    }
    Links links = openLinks(trial);
    try {
      attempt("host and device", () -> describe(trial, links, locked, soft));
      say("the plugin's own path: connection, handshake, READ of a registered file");
      if (proveThePluginsPath(trial)) {
        Advice advice = new Advice(report, settings);
        attempt("test file", () -> measure(links, trial.address(), advice, size));
        String hardware = trial.hardwareName();
        if (hardware != null) {
          attemptOptional("memory", () -> advice.onMemory(host.memoryBytes()));
          advice.onDevice(hardware, host.devices());
        }
      }
    } finally {
      attempt("everything given back", links::close);
    }
    attempt("file system", () -> sayWhatIsNotShown(links.info().name(), soft));
  }

  private interface Part {
    void run() throws IOException;
  }

  /**
   * Runs a part that the plugin needs; its failure is a finding, and the report is written all the
   * same.
   */
  private void attempt(String name, Part part) {
    try {
      part.run();
    } catch (IOException | RuntimeException e) {
      report.needed(name, Verdict.FAILED, reason(e));
    }
  }

  /** Runs a part that tests an optional feature. */
  private void attemptOptional(String name, Part part) {
    try {
      part.run();
    } catch (IOException | RuntimeException e) {
      report.optional(name, Verdict.NOT_PROVEN, reason(e));
    }
  }

  private static String reason(Exception e) {
    String message = e.getMessage();
    return e instanceof IOException && message != null ? message : e.toString();
  }

  private void refuseBadPlaces() throws RefusedException {
    Path json = options.json().toAbsolutePath();
    Path parent = json.getParent();
    if (Files.isDirectory(json)) {
      throw new RefusedException(
          "--report " + options.json() + " is a directory; give the name of a file");
    }
    if (Files.exists(json) && !Files.isWritable(json)) {
      throw new RefusedException("--report " + options.json() + " exists and you may not write it");
    }
    if (parent == null || !Files.isWritable(parent)) {
      throw new RefusedException(
          "--report " + options.json() + ": " + parent + " is no directory that you may write to");
    }
    if (!Files.isDirectory(options.directory()) || !Files.isWritable(options.directory())) {
      throw new RefusedException("--dir " + options.directory()
          + " is no directory that you may write to; give one where Spark's local directories are");
    }
  }

  private DeviceTrial choose() throws RefusedException {
    try {
      return DeviceTrial.choose(settings);
    } catch (IOException e) {
      List<String> devices = host.devices();
      throw new RefusedException(
          e.getMessage() + ". The kernel lists "
              + (devices.isEmpty()
                  ? "no RDMA device (is the driver loaded? see `rdma link`)"
                  : String.join(", ", devices))
              + "; --device soft tries the software device",
          e);
    }
  }

  private long affordableSize() throws IOException, RefusedException {
    long memory = host.availableBytes() / SHARES_OF_MEMORY;
    long space = Files.getFileStore(options.directory()).getUsableSpace() / 2;
    long size = Math.min(options.sizeBytes(), Math.min(memory, space)) / MEBIBYTE * MEBIBYTE;
    if (size < LEAST_BYTES) {
      throw new RefusedException("a file of " + LEAST_BYTES / MEBIBYTE + " MiB at least is needed:"
          + " --size is " + options.sizeBytes() / MEBIBYTE
          + " MiB, a sixth of the memory that this process may have yet "
          + memory / MEBIBYTE + " MiB, half of the free space in " + options.directory() + " "
          + space / MEBIBYTE + " MiB");
    }
    if (size < options.sizeBytes()) {
      say("the file will be of " + size / MEBIBYTE + " MiB, as memory and space allow");
    }
    return size;
  }

  private Links openLinks(DeviceTrial trial) throws RefusedException {
    try {
      return Links.open(trial.address());
    } catch (IOException e) {
      throw new RefusedException(
          "the device cannot be opened at " + trial.address().getHostAddress() + ": "
              + e.getMessage(),
          e);
    }
  }

  private void describe(DeviceTrial trial, Links links, LockedMemory locked, boolean soft)
      throws IOException {
    DeviceInfo info = links.info();
    String name = info.name();
    HostFacts.Mount mount = host.mountOf(options.directory());
    report.fact("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    report.fact("kernel", host.kernel());
    report.fact("distribution", host.distribution());
    report.fact("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
    report.fact("memory", host.memoryBytes() / MEBIBYTE + " MiB");
    report.fact("locked memory", locked.fact());
    report.fact("transparent huge pages", host.hugePages());
    report.fact("IOMMU", host.iommu());
    report.fact(
        "directory",
        options.directory() + ": " + mount.type() + " at " + mount.point() + " (" + mount.options()
            + ")" + (mount.dax() ? ", DAX" : ", no DAX"));
    report.fact("device", soft ? name + ", the software device" : name);
    report.fact("address", trial.address().getHostAddress());
    if (!soft) {
      report.fact("driver", host.driver(name));
      report.fact("slot", host.slot(name));
      report.fact("IOMMU of the device", host.iommuOfDevice(name));
      report.fact("memory core", host.memoryCore());
      report.fact("libraries", mappedLibraries());
    }
    report.fact(
        "limits",
        "max_qp_rd_atom " + info.maxQpRdAtom() + ", max_mr " + info.maxMr()
            + ", max_mr_size " + info.maxMrSize() + ", max_cqe " + info.maxCqe()
            + ", on-demand paging "
            + (info.odp() ? "yes" : "no"));
    for (PortInfo port : info.ports()) {
      describe(name, port, soft);
    }
    boolean active = info.ports().stream().anyMatch(port -> port.state() == PortState.ACTIVE);
    report.needed(
        "an active port", active ? Verdict.PROVEN : Verdict.FAILED, "see the ports above");
    locked.judge(report, !soft);
  }

  private void describe(String device, PortInfo port, boolean soft) {
    String gids = port.gids().stream()
        .map(gid -> gid.index() + "=" + gid.toInetAddress().getHostAddress())
        .collect(Collectors.joining(", "));
    report.fact(
        "port " + port.port(),
        port.state() + ", " + port.linkLayer() + ", MTU " + port.activeMtuBytes() + ", GIDs "
            + gids);
    String netInterface = soft ? "none" : host.interfaceOf(device, port.port());
    if (!"none".equals(netInterface)) {
      report.fact(
          "interface of port " + port.port(),
          netInterface + ", MTU " + host.interfaceMtu(netInterface) + "; "
              + FlowControl.of(netInterface));
    }
  }

  private static String mappedLibraries() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("/libibverbs.so") || line.contains("/librdmacm.so"))
          .map(line -> line.substring(line.indexOf('/')))
          .distinct()
          .collect(Collectors.joining(", "));
    }
  }

  private boolean proveThePluginsPath(DeviceTrial trial) {
    try {
      trial.prove(settings, options.directory());
      report.needed(
          "the plugin's own path",
          Verdict.PROVEN,
          "a connection to itself with handshake and test READ, and a block of a registered file"
              + " with the right bytes");
      return true;
    } catch (IOException | RuntimeException e) {
      report.needed("the plugin's own path", Verdict.FAILED, String.valueOf(e.getMessage()));
      return false;
    }
  }

  private void measure(Links links, InetAddress address, Advice advice, long size)
      throws IOException {
    say("writing a file of " + size / MEBIBYTE + " MiB in " + options.directory());
    try (TestFile file = TestFile.create(options.directory(), size, System.nanoTime())) {
      Bench bench = new Bench(report, links, settings.connection(), file);
      attempt("connection", () -> describe(links.connect(settings.connection()).attributes()));
      say("READs and compares it");
      attempt(RightBytes.NAME, () -> RightBytes.prove(bench));
      say("registration");
      Registration registration = new Registration(bench);
      attempt(Registration.NAME, registration::measure);
      attempt(RegionCost.NAME, () -> RegionCost.measure(bench));
      say("bandwidth");
      attempt(Bandwidth.NAME, () -> Bandwidth.measure(bench));
      say("many regions");
      attempt(ManyRegions.NAME, () -> ManyRegions.measure(bench));
      say("READs and TCP of several sizes");
      attempt(Speeds.NAME, () -> Speeds.measure(bench, address));
      attemptOptional(OnDemand.NAME, () -> OnDemand.measure(bench, registration.medianMsPerGib()));
      say("how long a dead peer goes unnoticed (up to minutes)");
      boolean inSoftware = !host.isOfHardware(links.info().name());
      attemptOptional(
          DeadPeer.NAME, () -> DeadPeer.measure(bench, inSoftware).ifPresent(advice::onDeadPeer));
    }
  }

  private void describe(QueuePairAttributes attributes) {
    report.fact(
        "connection",
        "MTU " + attributes.pathMtuBytes() + ", ACK timeout "
            + Samples.number(ConnectionSettings.ackTimeoutMs(attributes.ackTimeout())) + " ms, "
            + attributes.retryCount() + " retries, " + attributes.maxRdAtomic()
            + " READs in progress");
  }

  private void sayWhatIsNotShown(String device, boolean soft) throws IOException {
    if (soft) {
      report.notShown("anything about an RDMA device: this was the software device");
    }
    report.notShown("two hosts: a device that reads from itself uses neither cable nor switch");
    report.notShown("TCP between hosts: to an address of its own a host sends it past the device");
    report.notShown("congestion: pause frames (PFC) and ECN are listed, not tested");
    report.notShown(
        host.iommuTranslates(device) ? "the IOMMU switched off" : "an IOMMU that is on");
    report.notShown(
        host.mountOf(options.directory()).dax()
            ? "a file system without DAX"
            : "DAX: the directory's file system does not use it");
    report.notShown("files that are not in the page cache, and other file systems");
  }

  private void say(String what) {
    progress.println("verify-hardware: " + what);
  }
}
