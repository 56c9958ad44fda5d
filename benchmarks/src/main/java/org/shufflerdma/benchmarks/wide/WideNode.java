/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.wide;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shufflerdma.benchmarks.fetch.Plugin;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.staging.Staging;

/** What an executor has: it owns map outputs, which are registered or staged, and reads those of others. */
final class WideNode implements AutoCloseable {
  private static final long POOL_BYTES = 64 << 20;
  private static final long BUDGET_BYTES = 1L << 32;
  private static final int CORES = 4;
  private static final String PREFIX = "spark.shuffle.rdma.";
  private static final DirectFetch.Limits LIMITS =
      new DirectFetch.Limits(48 << 20, Integer.MAX_VALUE, Integer.MAX_VALUE);

  private final Acquired acquired = new Acquired();
  final RdmaTransport transport;
  final Staging staging;
  private final BlockFetcher fetcher;
  private final List<long[]> descriptors = new ArrayList<>();

  /** @param stagingBytes for readers; 0 registers the outputs */
  WideNode(String id, Outputs outputs, long stagingBytes, RdmaSettings settings) throws Exception {
    transport =
        acquired.keep(Plugin.open(settings, id, POOL_BYTES, InetAddress.getLoopbackAddress()));
    RegisteredArena arena = acquired.keep(new RegisteredArena(
        transport.protectionDomain(), new RegistrationBudget(BUDGET_BYTES, "a benchmark")));
    MapOutputRegistry registry = acquired.keep(new MapOutputRegistry(
        transport.protectionDomain(),
        arena,
        new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
        settings.withdrawGraceMs(),
        System::nanoTime));
    staging = acquired.keep(
        Plugin.openStaging(transport, (shuffleId, mapId) -> outputs.open(), stagingBytes));
    fetcher = acquired.keep(new BlockFetcher(
        transport, staging.clients(), null, FetchSettings.of(CORES, settings.withdrawGraceMs())));
    for (int map = 0; stagingBytes == 0 && map < Outputs.MAPS; map++) {
      PublishedOutput output = registry.publish(outputs.file(map));
      descriptors.add(
          new long[] {output.descriptorAddress(), output.descriptorRkey(), output.generation()});
    }
  }

  /**
   * The settings of a node.
   *
   * @param conf KEY=VALUE of the plugin's settings, as one gives them to Spark
   */
  static RdmaSettings settings(List<String> conf) {
    Map<String, String> given = new HashMap<>(Map.of(PREFIX + "device", "soft"));
    for (String each : conf) {
      String[] pair = each.split("=", 2);
      given.put(pair[0], pair[1]);
    }
    return RdmaSettings.from(given, PREFIX);
  }

  /** Where it is, and what it has. */
  Map<String, Object> said() {
    return Map.of(
        "id", transport.identity().executorId(),
        "endpoint", Plugin.endpoint(transport),
        "outputs", descriptors);
  }

  /** What a task has got, and when after its start. */
  record Result(double firstS, double lastS, double endS, long blocks, Map<String, Integer> left) {}

  /** Reads one partition of all map outputs of the owners, but for its own. */
  Result read(List<JsonNode> owners, int partition) throws Exception {
    List<PeerBlocks> peers = new ArrayList<>();
    for (JsonNode owner : owners) {
      if (!owner.get("id").asText().equals(transport.identity().executorId())) {
        peers.add(blocksOf(owner, partition));
      }
    }
    Collections.shuffle(peers);
    long startNs = System.nanoTime();
    long firstNs = 0;
    long lastNs = 0;
    long blocks = 0;
    Map<String, Integer> left = new TreeMap<>();
    try (DirectFetch fetch = fetcher.direct(peers, LIMITS, () -> {})) {
      while (fetch.next()) {
        lastNs = System.nanoTime() - startNs;
        firstNs = blocks++ == 0 ? lastNs : firstNs;
      }
      for (LeftBlock block : fetch.left()) {
        left.merge(block.reason().name(), 1, Integer::sum);
      }
    }
    return new Result(
        firstNs / 1e9, lastNs / 1e9, (System.nanoTime() - startNs) / 1e9, blocks, left);
  }

  private static PeerBlocks blocksOf(JsonNode owner, int partition) {
    PeerBlocks blocks = new PeerBlocks(Plugin.peer(owner.get("id").asText(), owner), null);
    JsonNode outputs = owner.get("outputs");
    for (int map = 0; map < Outputs.MAPS; map++) {
      JsonNode output = outputs.get(map);
      DescriptorRef ref = output == null
          ? DescriptorRef.unregistered(Outputs.SHUFFLE_ID, map, Outputs.PARTITIONS)
          : new DescriptorRef(
              output.get(0).asLong(),
              (int) output.get(1).asLong(),
              output.get(2).asLong(),
              Outputs.SHUFFLE_ID,
              map,
              Outputs.PARTITIONS);
      blocks.add(ref, partition, partition + 1);
    }
    return blocks;
  }

  /** Bytes that are registered for readers, and to read into. */
  long registeredBytes() {
    return staging.registeredBytes() + transport.buffers().usage().registeredBytes();
  }

  @Override
  public void close() {
    acquired.close();
  }
}
