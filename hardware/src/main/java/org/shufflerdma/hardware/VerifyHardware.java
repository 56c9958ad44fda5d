/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.MemlockLimit;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.QueuePairAttributes;

/**
 * The program behind bin/verify-hardware: tests whether the plugin can use a device with files of a
 * directory, measures what that costs, and writes a report without names and addresses. Exit status
 * 0: proven; 1: not proven; 2: the caller can put something right, and the report tells of the host
 * alone, unless the options themselves are wrong.
 */
public final class VerifyHardware {
  private static final int REFUSED = 2;
  private static final long MEBIBYTE = 1 << 20;
  private static final long LEAST_BYTES = 4 * MEBIBYTE;

  /** The file and two anonymous regions of its size, and as much again for other processes. */
  private static final int SHARES_OF_MEMORY = 6;

  private final Options options;
  private final RdmaSettings settings;
  private final PrintStream progress;
  private final HostFacts host = new HostFacts(Path.of("/"));
  private final Report report = new Report();
  private final Description description = new Description(report, host);

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
      if (Options.isHelp(args)) {
        out.print(usage());
        return 0;
      }
      Options options = Options.parse(args);
      RdmaSettings settings = RdmaSettings.from(options.settings(), Options.PREFIX);
      VerifyHardware run = new VerifyHardware(options, settings, err);
      run.refuseBadPlaces();
      if (options.servedPort() != 0) {
        run.serve();
        return 0;
      }
      int status = run.verifyAndTellRefusal();
      // Whatever happened: what failed is what a bug report needs.
      Redaction redaction = Redaction.ofThisHost();
      out.print(redaction.of(run.report.text()));
      Files.writeString(options.report(), redaction.of(run.report.file()));
      err.println("verify-hardware: the report, which you can send, is " + options.report());
      err.println("verify-hardware: "
          + (status == 0
              ? "everything that the plugin needs is proven"
              : "NOT everything that the plugin needs is proven"));
      return status;
    } catch (RefusedException | InvalidSettingException e) {
      err.println("verify-hardware: " + e.getMessage());
      return REFUSED;
    } catch (IOException e) {
      err.println("verify-hardware: " + reason(e));
      return 1;
    }
  }

  private static String usage() throws IOException {
    try (InputStream in = VerifyHardware.class.getResourceAsStream("usage.txt")) {
      return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** Returns the exit status. A refusal is a finding, too: the report then tells of the host. */
  private int verifyAndTellRefusal() {
    attempt("host", () -> description.host(options.directory()));
    try {
      verify();
      return report.proven() ? 0 : 1;
    } catch (RefusedException e) {
      progress.println("verify-hardware: " + e.getMessage());
      report.needed("a device to test", Verdict.FAILED, String.valueOf(e.getMessage()));
      report.notShown("anything about READs: no test has run");
      return REFUSED;
    } catch (IOException e) {
      report.needed("a device to test", Verdict.FAILED, reason(e));
      return 1;
    }
  }

  /** Lets the other host read; there is no report. */
  private void serve() throws IOException, RefusedException {
    DeviceTrial trial = choose();
    long size = affordableSize();
    if (trial.verbs().provider() != Provider.SOFT) {
      new LockedMemory(MemlockLimit.read(), settings).refuseTooLittle(size);
    }
    try (Links links = openLinks(trial);
        TestFile file = TestFile.create(options.directory(), size, System.nanoTime())) {
      ServingHost.serve(
          new Bench(report, links, settings.connection(), file),
          trial.address(),
          options.servedPort(),
          DeviceTrial.rails(settings, this::say),
          this::say);
    }
  }

  private void verify() throws IOException, RefusedException {
    DeviceTrial trial = choose();
    LockedMemory locked = new LockedMemory(MemlockLimit.read(), settings);
    boolean soft = trial.verbs().provider() == Provider.SOFT;
    long size = affordableSize();
    if (!soft) {
      locked.refuseTooLittle(size);
    }
    Links links = openLinks(trial);
    try {
      attempt("device", () -> description.device(links.info(), soft));
      locked.judge(report, !soft);
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

  /** The message of an exception of a file is the file's name alone. */
  static String reason(Exception e) {
    String message = e.getMessage();
    boolean saysEnough = e instanceof IOException && !(e instanceof FileSystemException);
    return saysEnough && message != null ? message : e.toString();
  }

  private void refuseBadPlaces() throws RefusedException {
    Path file = options.report().toAbsolutePath();
    Path parent = file.getParent();
    if (Files.isDirectory(file)) {
      throw new RefusedException(
          "--report " + options.report() + " is a directory; give the name of a file");
    }
    if (Files.exists(file) && !Files.isWritable(file)) {
      throw new RefusedException(
          "--report " + options.report() + " exists and you may not write it");
    }
    if (parent == null || !Files.isWritable(parent)) {
      throw new RefusedException("--report " + options.report() + ": " + parent
          + " is no directory that you may write to");
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
      if ("soft".equals(settings.device())) {
        throw new RefusedException(String.valueOf(e.getMessage()), e);
      }
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
      return new Links(trial.address());
    } catch (IOException e) {
      throw new RefusedException(
          "the device cannot be opened at " + trial.address().getHostAddress() + ": "
              + e.getMessage(),
          e);
    }
  }

  private boolean proveThePluginsPath(DeviceTrial trial) {
    try {
      trial.prove(settings, options.directory());
      report.needed(
          "the plugin's own path",
          Verdict.PROVEN,
          "a connection to itself with handshake, the canary's right bytes, and a block of a"
              + " registered file with the right bytes");
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
      String device = links.info().name();
      QueuePairAttributes attributes =
          links.connect(settings.connection()).link().attributes();
      description.connection(attributes, device);
      Counters before = Counters.read(host.root(), device, attributes.port());
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
      List<DeviceTrial.Rail> rails = DeviceTrial.rails(
          settings, why -> report.optional(RailPairs.NAME, Verdict.NOT_PROVEN, why));
      if (!rails.isEmpty()) {
        say("each rail to each");
        attempt(RailPairs.NAME, () -> RailPairs.ofThisHost(bench, rails));
      }
      InetSocketAddress peer = options.peer();
      if (peer != null) {
        say("the same from the other host");
        attempt(
            OtherHost.NAME,
            () -> OtherHost.measure(report, settings.connection(), address, peer, rails));
      }
      Counters.read(host.root(), device, attributes.port()).tellSince(before, report);
      attemptOptional(OnDemand.NAME, () -> OnDemand.measure(bench, registration.medianMsPerGib()));
      say("how long a dead peer goes unnoticed (up to minutes)");
      boolean inSoftware = !host.isOfHardware(device);
      attemptOptional(
          DeadPeer.NAME, () -> DeadPeer.measure(bench, inSoftware).ifPresent(advice::onDeadPeer));
    }
  }

  private void sayWhatIsNotShown(String device, boolean soft) throws IOException {
    if (soft) {
      report.notShown("anything about an RDMA device: this was the software device");
    }
    if (options.peer() == null) {
      report.notShown("two hosts: a device that reads from itself uses neither cable nor switch");
      report.notShown(
          "TCP between hosts: to an address of its own a host sends it past the device");
    }
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
