/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.TcpReason;

/**
 * Says of a stage's remote reads, in one sentence, what kept them from READs of registered map outputs, or
 * else what made them slow ({@link WaitVerdict}), and what to change.
 */
final class StageVerdict {
  /** Of what came by TCP, in bytes: less is not worth a line. */
  private static final long LEAST_TCP_BYTES = 1 << 20;

  private static final int LEAST_TCP_PERCENT = 1;
  private static final int LEAST_STAGED_PERCENT = 10;

  /** What to do where fetch buffers are wanting. */
  static final String MORE_BUFFERS =
      "raise spark.shuffle.rdma.poolBytes, and spark.shuffle.rdma.maxRegisteredBytes to twice as much";

  private StageVerdict() {}

  /**
   * Returns the sentence, without the stage's number; null if nothing is to be said.
   *
   * @param counts sums over the stage's tasks
   * @param runMicros for which these tasks ran, together
   * @param memory what to set so that more outputs are registered
   * @param publishes whether map tasks register their outputs if there is room, so that what is staged had none
   */
  static @Nullable String of(
      ToLongFunction<ReadCount> counts, long runMicros, MemoryAdvice memory, boolean publishes) {
    long rdma = counts.applyAsLong(Counter.RDMA_BYTES);
    long tcp = counts.applyAsLong(Counter.TCP_BYTES);
    long remote = rdma + tcp;
    if (tcp >= LEAST_TCP_BYTES && percent(tcp, remote) >= LEAST_TCP_PERCENT) {
      return "%d %% of the remote bytes (%s of %s) came by TCP%s"
          .formatted(percent(tcp, remote), text(tcp), text(remote), mainReason(counts, memory));
    }
    long staged =
        counts.applyAsLong(Counter.STAGED_BYTES) - counts.applyAsLong(Counter.NODE_SERVICE_BYTES);
    if (publishes && remote > 0 && percent(staged, remote) >= LEAST_STAGED_PERCENT) {
      return "%d %% of the remote bytes (%s of %s) were staged by their owners, whose %s: %s"
          .formatted(
              percent(staged, remote),
              text(staged),
              text(remote),
              memory.wanting(),
              memory.toRegister(staged));
    }
    return WaitVerdict.of(counts, runMicros, memory);
  }

  private static long percent(long part, long whole) {
    return whole == 0 ? 0 : Math.round(100.0 * part / whole);
  }

  private static String mainReason(ToLongFunction<ReadCount> counts, MemoryAdvice memory) {
    TcpReason main =
        Arrays.stream(TcpReason.values()).max(Comparator.comparingLong(counts)).orElseThrow();
    long blocks = counts.applyAsLong(main);
    return blocks == 0
        ? ""
        : ", most blocks (%d of %d) because %s"
            .formatted(blocks, counts.applyAsLong(Counter.TCP_BLOCKS), because(main, memory));
  }

  private static String because(TcpReason reason, MemoryAdvice memory) {
    return switch (reason) {
      case RDMA_OFF -> "RDMA is off on executors that read: the first lines of their logs say why";
      case NO_LOCATION ->
        "their map outputs have no location: the logs of the executors that wrote them say why";
      case MIGRATED -> "their map outputs have moved to other executors, which is no fault";
      case OTHER_BLOCK -> "a shuffle service has merged them, which is no fault";
      case REFETCH -> "Spark could not decode them: if checksums are on, files are damaged";
      case ZERO_LENGTH -> "they are empty, which is no fault";
      case FILE, SINK ->
        "temporary files could not be written: look at the space and the permissions of spark.local.dir";
      case CONNECT, CONNECT_TIMEOUT ->
        "the RDMA addresses of their executors did not answer: if these have not ended, look at routes and"
            + " firewalls, or set spark.shuffle.rdma.address";
      case RAIL ->
        "their executors use rails that those of the readers do not reach: let all rails reach one another by routes, or"
            + " name one in spark.shuffle.rdma.device (bin/verify-hardware tries each to each)";
      case REJECTED -> "their executors refused the connection: the logs of both sides say why";
      case NONCE -> "their executors were restarted, which is no fault";
      case CANARY ->
        "the first READ of new connections brought wrong bytes or none: look at MTU, PFC and ECN of the network";
      case BREAKER ->
        "their executors failed three times in a row: earlier lines of the readers' logs say how";
      case PEER_UNREACHABLE ->
        "their hosts answered neither RDMA nor TCP: look at these hosts, which the readers' logs name";
      case RESOURCES ->
        "no connection was to spare: raise spark.shuffle.rdma.maxConnections, or see what the device has (ibv_devinfo -v)";
      case WITHDRAWN -> "their shuffle was removed meanwhile, which is no fault";
      case STAGING ->
        "their map outputs are not registered, and their owners did not stage them: the readers' logs say why, and "
            + memory.toRegister(0);
      case DESCRIPTOR, REMOTE_ACCESS ->
        "their map outputs were gone when they were read, which is no fault if their shuffle was removed";
      case READ_ERROR, CONNECTION_LOST, TIMEOUT ->
        "READs failed or came to a halt: the readers' logs name the peers; look at their links (rdma link, ibv_devinfo)";
      case CHECKSUM ->
        "their checksums did not match twice: look at memory, NIC and disk of the peers that the readers' logs name";
      case POOL -> "no fetch buffer was free: " + MORE_BUFFERS;
      case TOO_LARGE -> "they are larger than all fetch buffers together: " + MORE_BUFFERS;
      case CLOSED -> "the RDMA of executors that read has ended: their logs say why";
      case INTERNAL -> "the plugin failed: report it with the stack trace from the readers' logs";
    };
  }

  static String text(long bytes) {
    double mib = bytes / 1048576.0;
    return mib >= 1024
        ? String.format(Locale.ROOT, "%.1f GiB", mib / 1024)
        : String.format(Locale.ROOT, "%.1f MiB", mib);
  }
}
