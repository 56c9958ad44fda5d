/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.Staging;

/**
 * The process that owns the blocks. It writes them to files, publishes these by the plugin, stages them, and serves
 * them by Spark's network stack, offers the same blocks by UCX to its own host, says as a line of JSON where, and ends with its standard input.
 *
 * <p>Arguments: DIRECTORY BYTES ADDRESS; this host has the address.
 */
public final class FetchServer {
  private static final long BUDGET_BYTES = 1L << 32;
  private static final long POOL_BYTES = 16 << 20;
  private static final long STAGING_BYTES = 16 << 20;

  private FetchServer() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    InetAddress address = InetAddress.getByName(arguments[2]);
    Files.createDirectories(directory);
    try (RdmaTransport transport = Plugin.open("server", POOL_BYTES, address);
        RegisteredArena arena = new RegisteredArena(
            transport.protectionDomain(), new RegistrationBudget(BUDGET_BYTES, "a benchmark"));
        MapOutputRegistry registry = new MapOutputRegistry(
            transport.protectionDomain(),
            arena,
            new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
            Plugin.SETTINGS.withdrawGraceMs(),
            System::nanoTime);
        Staging staging = Plugin.openStaging(
            transport, (shuffleId, mapId) -> open(directory, shuffleId, mapId), STAGING_BYTES);
        UcxBlocks ucx = new UcxBlocks(address.isLoopbackAddress() ? sets(arguments) : List.of());
        TransportContext netty =
            new TransportContext(NettyBlocks.CONF, new NettyBlocks(directory, sets(arguments)));
        TransportServer server = netty.createServer(address.getHostAddress(), 0, List.of())) {
      Map<String, List<long[]>> outputs = new LinkedHashMap<>();
      for (BlockSet set : sets(arguments)) {
        List<long[]> descriptors = new ArrayList<>();
        for (int map = 0; map < set.maps(); map++) {
          PublishedOutput output = publish(registry, set, map, directory);
          descriptors.add(
              new long[] {output.descriptorAddress(), output.descriptorRkey(), output.generation()
              });
        }
        outputs.put(set.label(), descriptors);
      }
      System.out.println(new ObjectMapper()
          .writeValueAsString(Map.of(
              "endpoint", Plugin.endpoint(transport),
              "nettyPort", server.getPort(),
              "ucx", ucx.said(),
              "outputs", outputs)));
      while (System.in.read() >= 0) {
        // The end of the input ends the server.
      }
      System.err.printf(
          "fetch: %d bytes were staged%n", staging.stats().bytesStaged.sum());
    }
  }

  private static List<BlockSet> sets(String[] arguments) {
    return BlockSet.ofBytes(Long.parseLong(arguments[1]));
  }

  private static PublishedOutput publish(
      MapOutputRegistry registry, BlockSet set, int map, Path directory) throws Exception {
    Path file = set.file(directory, map);
    write(file, set, map);
    writeIndex(set.index(directory, map), set.partitions(), set.blockBytes());
    long[] lengths = new long[set.partitions()];
    Arrays.fill(lengths, set.blockBytes());
    return registry.publish(new MapOutputFile(
        set.shuffleId(), map, file, lengths, PartitionChecksums.compute(file, lengths)));
  }

  private static CommittedOutputs.Files open(Path directory, int shuffleId, long mapId)
      throws IOException {
    BlockSet set = new BlockSet(shuffleId, 0, 0); // its files have the names of all of this size
    int map = Math.toIntExact(mapId);
    return CommittedOutputs.Files.open(set.file(directory, map), set.index(directory, map));
  }

  /** Writes the index file of partitions of one size. */
  public static void writeIndex(Path file, int partitions, int blockBytes) throws IOException {
    ByteBuffer index = ByteBuffer.allocate((partitions + 1) * Long.BYTES);
    for (int partition = 0; partition <= partitions; partition++) {
      index.putLong((long) partition * blockBytes);
    }
    Files.write(file, index.array());
  }

  private static void write(Path file, BlockSet set, int map) throws IOException {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
      for (int partition = 0; partition < set.partitions(); partition++) {
        out.write(set.content(map, partition));
      }
    }
  }
}
