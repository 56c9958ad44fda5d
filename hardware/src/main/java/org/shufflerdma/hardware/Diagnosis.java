/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.hardware.WayMeasurement.Failure;
import org.shufflerdma.hardware.WayMeasurement.InForce;
import org.shufflerdma.hardware.WayMeasurement.Speed;
import org.shufflerdma.hardware.WayMeasurement.Stage;

/**
 * Concludes from what was found on hosts and ways what is wrong, and how to mend it. A fault keeps RDMA from serving, or
 * from serving well; a note does not.
 */
public final class Diagnosis {
  /** A way is slow that has less than this share of the median of all. */
  private static final double SLOW_SHARE = 0.25;

  /** Clocks that differ by more spoil the comparison of logs. RDMA needs no clock. */
  private static final double CLOCK_MS = 1000;

  /** Counters that rise only where a cable, a port or a packet is bad (the kernel's sysfs-class-infiniband, and NVIDIA's). */
  private static final Set<String> BAD_LINK = Set.of(
      "symbol_error",
      "link_error_recovery",
      "link_downed",
      "port_rcv_errors",
      "local_link_integrity_errors",
      "excessive_buffer_overrun_errors",
      "rx_icrc_encapsulated");

  /** Counters that rise where packets were lost on the way. */
  private static final Set<String> LOST_PACKETS = Set.of(
      "port_xmit_discards",
      "out_of_sequence",
      "packet_seq_err",
      "implied_nak_seq_err",
      "local_ack_timeout_err",
      "retry_exceeded_err");

  /**
   * A fault or a note.
   *
   * @param where the host or the way
   */
  public record Found(String where, Fault fault) {}

  private final RdmaSettings settings;
  private final Map<String, HostExam> exams = new TreeMap<>();
  private final List<Found> faults = new ArrayList<>();
  private final List<Found> notes = new ArrayList<>();

  private Diagnosis(RdmaSettings settings) {
    this.settings = settings;
  }

  /**
   * Concludes from all that was found.
   *
   * @param unseen what was expected and did not come, each with what to do
   * @param leastMbPerS the least bandwidth of READs that is no fault; 0 if any is good
   */
  public static Diagnosis of(
      List<Examined> hosts,
      List<Way> ways,
      List<Found> unseen,
      RdmaSettings settings,
      double leastMbPerS) {
    Diagnosis diagnosis = new Diagnosis(settings);
    diagnosis.faults.addAll(unseen);
    hosts.forEach(diagnosis::host);
    diagnosis.oneForAll(
        "interface MTU",
        hosts.stream().filter(host -> host.exam() != null && mtu(host) > 0).toList(),
        Examined::name,
        Diagnosis::mtu,
        (host, usual) -> "ip link set dev "
            + Objects.requireNonNull(host.exam()).netInterface() + " mtu " + usual);
    diagnosis.failures(ways);
    diagnosis.attributes(ways);
    diagnosis.speeds(ways, leastMbPerS);
    if (ways.isEmpty()) {
      diagnosis.note(
          "cluster", "no two hosts could be tried with each other", "start more executors");
    }
    return diagnosis;
  }

  public List<Found> faults() {
    return faults;
  }

  public List<Found> notes() {
    return notes;
  }

  private void fault(String where, String what, String mend) {
    faults.add(new Found(where, new Fault(what, mend)));
  }

  private void note(String where, String what, String mend) {
    notes.add(new Found(where, new Fault(what, mend)));
  }

  private void host(Examined host) {
    String lost = host.lost();
    if (lost != null) {
      fault(
          host.name(),
          "executor " + host.executorId() + " " + lost,
          "look at the end of its stderr in Spark's UI, and at `dmesg` of its host; then run the doctor again");
    }
    HostExam exam = host.exam();
    if (exam == null) {
      return;
    }
    exams.put(host.name(), exam);
    exam.faults().forEach(each -> faults.add(new Found(host.name(), each)));
    if (Math.abs(host.clockAheadMs()) - host.clockErrorMs() > CLOCK_MS) {
      note(
          host.name(),
          String.format(
              Locale.ROOT,
              "its clock is %.1f s %s the driver's",
              Math.abs(host.clockAheadMs()) / 1000,
              host.clockAheadMs() > 0 ? "ahead of" : "behind"),
          "chronyc makestep");
    }
    Map<String, Long> risen = host.countersRisen();
    rose(
        host.name(),
        risen,
        BAD_LINK,
        "the link is bad",
        "change cable or transceiver; `ethtool -m` and `rdma statistic show`");
    rose(
        host.name(),
        risen,
        LOST_PACKETS,
        "packets were lost",
        "set up PFC or ECN on NIC and switch (docs/roce.md); `dcb pfc show dev "
            + exam.netInterface() + "`");
  }

  private void rose(
      String name, Map<String, Long> risen, Set<String> bad, String what, String mend) {
    String told = risen.entrySet().stream()
        .filter(counter -> bad.contains(counter.getKey()))
        .map(counter -> counter.getKey() + " by " + counter.getValue())
        .collect(Collectors.joining(", "));
    if (!told.isEmpty()) {
      fault(name, what + ": counters of the port rose during the measurements: " + told, mend);
    }
  }

  private static int mtu(Examined host) {
    HostExam exam = host.exam();
    return exam == null ? 0 : exam.mtuBytes();
  }

  /** Faults all that have another value than most have; of values that are equally frequent, the lesser one counts. */
  private <T, V extends Comparable<V>> void oneForAll(
      String what,
      List<T> all,
      Function<T, String> name,
      Function<T, V> value,
      BiFunction<T, V, String> mend) {
    Map<V, Long> frequencies =
        all.stream().collect(Collectors.groupingBy(value, TreeMap::new, Collectors.counting()));
    if (frequencies.size() < 2) {
      return;
    }
    V usual = frequencies.entrySet().stream()
        .max(Map.Entry.<V, Long>comparingByValue()
            .thenComparing(Map.Entry::getKey, Comparator.reverseOrder()))
        .orElseThrow()
        .getKey();
    for (T each : all) {
      V own = value.apply(each);
      if (!own.equals(usual)) {
        fault(
            name.apply(each),
            "its " + what + " is " + own + ", and that of others " + usual,
            mend.apply(each, usual));
      }
    }
  }

  private void failures(List<Way> ways) {
    Set<String> worked =
        ways.stream().filter(way -> !way.failed()).map(Way::toString).collect(Collectors.toSet());
    for (Way way : ways) {
      Failure failure = way.measured().failure();
      if (failure != null && failure.stage() != Stage.READER) {
        boolean otherWayWorks = worked.contains(way.to() + " -> " + way.from());
        fault(way.toString(), told(failure, way), mend(failure, way, otherWayWorks));
      }
    }
  }

  private static String told(Failure failure, Way way) {
    String tcp = way.measured().tcpFailure();
    return (switch (failure.stage()) {
          case CONNECT -> "no connection";
          case PROBE -> "a connection, but READs of the probe block fail";
          case READ -> "a connection and the probe block, but further READs fail";
          case BYTES -> "wrong bytes";
          case READER -> "not measured";
        })
        + ": " + failure.text()
        + (tcp == null ? "; TCP works" : "; TCP fails as well: " + tcp);
  }

  private String mend(Failure failure, Way way, boolean otherWayWorks) {
    if (failure.stage() == Stage.BYTES) {
      return "--conf " + settings.key("device")
          + "=none until `verify-hardware` on both hosts brings right bytes";
    }
    if (failure.stage() != Stage.CONNECT) {
      return "`ping -M do -s " + largestPing(way.from()) + " " + address(way.to()) + "` on "
          + way.from()
          + " must be answered: raise the MTU of the switch, or `ip link set dev "
          + netInterface(way.from())
          + " mtu 1500` on all hosts";
    }
    if (way.measured().tcpFailure() != null && !otherWayWorks) {
      return "`ping " + address(way.to()) + "` on " + way.from()
          + ": mend link, route or process first";
    }
    return "`nft list ruleset` on " + way.to() + ": let in what RDMA uses, from "
        + address(way.from())
        + " (RoCE v2: UDP port 4791; software device: the TCP ports of SOFTVERBS_PORT_RANGE)"
        + (otherWayWorks ? "; the other direction works" : "");
  }

  /** The bytes of a ping that fill a packet of the reader's interface: without the headers of IPv4 and ICMP. */
  private int largestPing(String name) {
    HostExam exam = exams.get(name);
    return exam == null || exam.mtuBytes() == 0 ? 1472 : exam.mtuBytes() - 28;
  }

  private String address(String name) {
    HostExam exam = exams.get(name);
    return exam == null ? name : exam.address();
  }

  private String netInterface(String name) {
    HostExam exam = exams.get(name);
    return exam == null || exam.netInterface().isEmpty() ? "INTERFACE" : exam.netInterface();
  }

  private record Marked(Way way, InForce inForce) {}

  /** The attributes of a reader's queue pairs follow from its own host, unless the setting names them. */
  private void attributes(List<Way> ways) {
    Map<String, Marked> readers = new TreeMap<>();
    for (Way way : ways) {
      InForce inForce = way.measured().attributes();
      if (inForce != null) {
        readers.putIfAbsent(way.from(), new Marked(way, inForce));
      }
    }
    Collection<Marked> all = readers.values();
    Integer wanted = settings.connection().typeOfService();
    if (wanted == null) {
      oneForAll(
          "traffic class",
          List.copyOf(all),
          marked -> marked.way().from(),
          marked -> marked.inForce().trafficClass(),
          (marked, usual) -> "--conf " + settings.key("typeOfService") + "=" + usual
              + ", or default_roce_tos of the host (docs/roce.md)");
    } else {
      all.stream()
          .filter(marked -> marked.inForce().trafficClass() != wanted)
          .forEach(
              marked -> fault(
                  marked.way().from(),
                  "its traffic class is " + marked.inForce().trafficClass() + ", although "
                      + settings.key("typeOfService") + "=" + wanted,
                  "remove what overrides it: /sys/class/infiniband/DEVICE/tc/PORT/traffic_class (docs/roce.md)"));
    }
    oneForAll(
        "GID type",
        all.stream()
            .filter(marked -> !"unknown".equals(marked.inForce().gidType()))
            .toList(),
        marked -> marked.way().from(),
        marked -> marked.inForce().gidType(),
        (marked, usual) -> "echo '" + usual
            + "' > /sys/kernel/config/rdma_cm/DEVICE/ports/PORT/default_roce_mode");
    oneForAll(
        "MTU of RDMA packets",
        List.copyOf(all),
        marked -> marked.way().from(),
        marked -> marked.inForce().mtuBytes(),
        (marked, usual) -> "ip link set dev " + netInterface(marked.way().from())
            + " mtu N, with the same N on all hosts (4200 for packets of 4096 bytes)");
  }

  private record Timed(Way way, Speed large) {}

  private void speeds(List<Way> ways, double leastMbPerS) {
    List<Timed> all = new ArrayList<>();
    for (Way way : ways) {
      Speed large = way.measured().large();
      if (large != null) {
        all.add(new Timed(way, large));
      }
    }
    all.sort(Comparator.comparingDouble(timed -> timed.large().mbPerS()));
    double median = all.isEmpty() ? 0 : all.get(all.size() / 2).large().mbPerS();
    for (Timed timed : all) {
      double own = timed.large().mbPerS();
      if (own < leastMbPerS) {
        slow(timed, String.format(Locale.ROOT, "less than --least-mb-per-s %.0f", leastMbPerS));
      } else if (own < SLOW_SHARE * median) {
        slow(
            timed,
            String.format(
                Locale.ROOT, "less than a quarter of the median of all ways, %.0f MB/s", median));
      }
    }
  }

  private void slow(Timed timed, String than) {
    Way way = timed.way();
    Speed tcp = way.measured().tcpLarge();
    boolean tcpIsFaster = tcp != null && tcp.mbPerS() > 2 * timed.large().mbPerS();
    fault(
        way.toString(),
        String.format(
            Locale.ROOT,
            "READs of 1 MiB bring %.0f MB/s, %s; TCP %s",
            timed.large().mbPerS(),
            than,
            rate(tcp)),
        tcpIsFaster
            ? "look for lost or paused packets of RDMA alone: `rdma statistic show`, PFC and ECN (docs/roce.md)"
            : "`ethtool " + netInterface(way.from()) + "` and `tc qdisc show dev "
                + netInterface(way.from()) + "` on " + way.from() + ", and the same on " + way.to()
                + ": TCP is slow there as well");
  }

  private static String rate(@Nullable Speed speed) {
    return speed == null ? "fails" : String.format(Locale.ROOT, "%.0f MB/s", speed.mbPerS());
  }
}
