/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * All faults that are injected. In their texts {@code {a|b}} stands for one of the words, {@code
 * {1..9}} for a number; which event of a job is struck is drawn from how many the job has.
 */
final class FaultCatalogue {
  /** Rules, one for each point, whose events are counted in a job without faults. */
  private static final Map<String, String> COUNTERS = Map.of(
      "read", "read:flip",
      "post", "post_send:errno=EIO,opcode=READ",
      "completion", "completion:drop,opcode=READ",
      "reg_mr", "reg_mr:errno=EIO",
      "file", "file:errno=EIO",
      "cma", "cma:errno=EIO",
      "frame", "frame:drop,op=READ_DATA");

  private static final String STATUS = "{LOC_LEN_ERR|LOC_QP_OP_ERR|LOC_EEC_OP_ERR|LOC_PROT_ERR"
      + "|WR_FLUSH_ERR|MW_BIND_ERR|BAD_RESP_ERR|LOC_ACCESS_ERR|REM_INV_REQ_ERR|REM_ACCESS_ERR"
      + "|REM_OP_ERR|RETRY_EXC_ERR|RNR_RETRY_EXC_ERR|LOC_RDD_VIOL_ERR|REM_INV_RD_REQ_ERR"
      + "|REM_ABORT_ERR|INV_EECN_ERR|INV_EEC_STATE_ERR|FATAL_ERR|RESP_TIMEOUT_ERR|GENERAL_ERR}";
  private static final List<String> POINTS = List.copyOf(COUNTERS.keySet());
  private static final String NEVER = ",nth=1000000000";
  private static final String CUT = "links cut";

  /** Strikes when the K-th READ of a job is done, which is the moment of an action. */
  private static final String MOMENT = "completion:delay=1,opcode=READ";

  private static final Pattern HURTS_SPARK = Pattern.compile("kill|stop|unlink");
  private static final Pattern CHOICE = Pattern.compile("\\{([^}]*)}");

  /**
   * @param counted the point whose events are counted; empty for the first event
   * @param path the only READ path that has such events, or empty
   */
  private record Entry(
      int weight,
      String counted,
      String path,
      @Nullable String before,
      String rule,
      @Nullable String action) {}

  private static final List<Entry> ENTRIES = List.of(
      each("read", "read:status=" + STATUS, 8),
      each("read", "read:status=" + STATUS + ",count={2..5}", 2),
      each("read", "read:flip,offset={0..40}", 3),
      each("read", "read:flip,offset={0..40},count={2..3}", 1),
      each("read", "read:truncate={0..40}", 2),
      each("completion", "completion:drop,opcode=READ", 2),
      each("completion", "completion:delay={50..1500},opcode=READ", 2),
      each("completion", "completion:delay={2500..4000},opcode=READ", 1),
      each("completion", "completion:duplicate,opcode=READ,count={1..20}", 2),
      each("completion", "completion:overrun,opcode=READ", 1),
      each("read", "completion:drop,result=WR_FLUSH_ERR,count=all;read:status=REM_OP_ERR", 1),
      each("post", "post_send:errno={ENOMEM|EINVAL|EIO},opcode=READ,count={1..3}", 2),
      each("reg_mr", "reg_mr:errno={ENOMEM|EPERM|EFAULT|EINVAL|EOPNOTSUPP},count={1..8}", 3),
      each("read", "read:raise={QP_FATAL|QP_REQ_ERR|QP_ACCESS_ERR|CQ_ERR}", 2),
      each("read", "read:raise={PORT_ERR|PORT_ACTIVE|GID_CHANGE|LID_CHANGE|SM_CHANGE}", 1),
      each("read", "read:raise=DEVICE_FATAL", 1),
      onPath("file", "file:errno={EIO|EBADF|ESTALE},count={1..4}"),
      onPath("file", "file:delay={20..300}"),
      onPath("cma", "cma:errno={EPERM|ESRCH|EFAULT|ENOMEM},count={1..4}"),
      onPath("cma", "cma:delay={20..300}"),
      onPath("frame", "frame:op=READ_DATA,drop"),
      onPath("frame", "frame:op=READ_DATA,delay={20..1500}"),
      onPath("frame", "frame:op=READ_DATA,flip,offset={0..40}"),
      onPath("frame", "frame:op=READ_DATA,truncate={0..40}"),
      onPath("frame", "frame:op=READ_DATA,cut"),
      onPath("frame", "frame:op=READ_DATA,silence"),
      anew("resolve_addr:errno={EHOSTUNREACH|ENODEV|ENOMEM}"),
      anew("resolve_route:errno={EHOSTUNREACH|ENOMEM}"),
      anew("create_id:errno={ENOMEM|EMFILE}"),
      anew("create_qp:errno={ENOMEM|EINVAL},count={1..3}"),
      anew("modify_qp:errno={EINVAL|EIO}"),
      anew("connect:errno={ECONNREFUSED|ETIMEDOUT|EINVAL},count={1..3}"),
      anew("connect:delay={100..3000}"),
      anew("accept:errno={EINVAL|ENOMEM}"),
      anew("cm_event:type=ESTABLISHED,event={REJECTED|UNREACHABLE|CONNECT_ERROR|DISCONNECTED}"),
      anew("cm_event:type=ADDR_RESOLVED,event=ADDR_ERROR,errno=ETIMEDOUT"),
      anew("cm_event:type={ESTABLISHED|ROUTE_RESOLVED},drop"),
      anew("cm_event:type={ESTABLISHED|CONNECT_REQUEST},delay={50..3000}"),
      anew("cm_frame:op=REQUEST,reason={8|28}"),
      anew("cm_frame:op={REQUEST|REPLY|READY},{drop|cut|silence}"),
      anew("cm_frame:op={REQUEST|REPLY},flip,offset={0..200}"),
      anew("cm_frame:op={REQUEST|REPLY|READY},delay={50..2500}"),
      anew("link:kind={QP|CM},{refuse|silence},count={1..3}"),
      anew("link:kind=QP,delay={10..200}"),
      midway("links {cut|silence|refuse}", 3),
      midway("links slow rate={100000..2000000} delay={1..50}", 1),
      midway("raise {QP_FATAL|QP_ACCESS_ERR|CQ_ERR|PORT_ERR}", 1),
      midway("raise DEVICE_FATAL", 1),
      midway("kill", 1),
      midway("stop {200..5000}", 1),
      midway("unlink", 1),
      each("read", "read:killpeer,remote", 1),
      new Entry(1, "read", "", null, "read:stoppeer,remote", "continue {200..5000}"));

  private FaultCatalogue() {}

  private static Entry each(String counted, String rule, int weight) {
    return new Entry(weight, counted, "", null, rule, null);
  }

  private static Entry onPath(String point, String rule) {
    return new Entry(1, point, point.equals("frame") ? "wire" : point, null, rule, null);
  }

  /** Strikes at the first event after all connections of the executor have ended. */
  private static Entry anew(String rule) {
    return new Entry(1, "", "", CUT, rule, null);
  }

  private static Entry midway(String action, int weight) {
    return new Entry(weight, "completion", "", null, MOMENT, action);
  }

  /** Has the device of a process count the events of all points, and strike at none. */
  static void beginCount(DeviceProcess process) throws IOException {
    List<String> rules =
        POINTS.stream().map(point -> COUNTERS.get(point) + NEVER).toList();
    process.command("set " + String.join(";", rules));
  }

  /** Ends the count and returns how many events of each point there were. */
  static Map<String, Long> endCount(DeviceProcess process) throws IOException {
    List<DeviceProcess.RuleCount> counts = process.counts();
    process.command("clear");
    Map<String, Long> events = new HashMap<>();
    for (int i = 0; i < counts.size(); i++) {
      events.put(POINTS.get(i), counts.get(i).seen());
    }
    return events;
  }

  /**
   * @param executors how many there are
   * @param path the READ path that the executors are held to
   * @param events how many events of each point the job has without faults
   */
  static Fault draw(Random random, int executors, String path, Map<String, Long> events) {
    List<Entry> candidates = new ArrayList<>();
    for (Entry entry : ENTRIES) {
      for (int i = 0; i < entry.weight && (entry.path.isEmpty() || entry.path.equals(path)); i++) {
        candidates.add(entry);
      }
    }
    Entry entry = candidates.get(random.nextInt(candidates.size()));
    int executor = random.nextInt(executors);
    long most = Math.max(1, events.getOrDefault(entry.counted, 1L));
    String rule = choose(random, entry.rule) + ",nth=" + (1 + (long) (random.nextDouble() * most));
    String action = entry.action == null ? null : choose(random, entry.action);
    return new Fault(
        executor,
        entry.before == null ? List.of() : List.of(entry.before),
        rule,
        action,
        HURTS_SPARK.matcher(rule + " " + action).find(),
        (rule + action).contains("DEVICE_FATAL"));
  }

  /** Returns all rules that may be drawn, with each number in them at its least. */
  static Set<String> rules() {
    Set<String> rules = new LinkedHashSet<>();
    ENTRIES.forEach(entry -> spell(entry.rule + ",nth=1", rules));
    return rules;
  }

  private static void spell(String text, Set<String> spelled) {
    Matcher choice = CHOICE.matcher(text);
    if (!choice.find()) {
      spelled.add(text);
      return;
    }
    for (String word : choice.group(1).replaceFirst("\\.\\..*", "").split("\\|", -1)) {
      spell(text.substring(0, choice.start()) + word + text.substring(choice.end()), spelled);
    }
  }

  private static String choose(Random random, String text) {
    return CHOICE.matcher(text).replaceAll(choice -> chosen(random, choice));
  }

  private static String chosen(Random random, MatchResult choice) {
    String[] range = choice.group(1).split("\\.\\.", 2);
    if (range.length == 2) {
      int first = Integer.parseInt(range[0]);
      return Integer.toString(first + random.nextInt(Integer.parseInt(range[1]) - first + 1));
    }
    String[] words = choice.group(1).split("\\|", -1);
    return words[random.nextInt(words.length)];
  }
}
