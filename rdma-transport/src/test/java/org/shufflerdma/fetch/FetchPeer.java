/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.memory.RegisteredArena;

/**
 * A peer in a process of its own. {@code serve DIRECTORY PORT OUTPUTS BYTES} publishes map outputs,
 * says where, and serves until its standard input ends. {@code read PROGRESS_MS PEER_LOST_MS
 * TCP_PORT PEERS}, with what as many servers said on standard input, fetches one block of each
 * output of a server for every further line and says how it went. The line ends with the number of
 * the server.
 */
final class FetchPeer {
  static final String EXECUTOR = "peer";

  /** What a server says of itself. */
  record Published(PeerId peer, List<DescriptorRef> outputs) {
    List<BlockRequest> blocks() {
      List<BlockRequest> blocks = new ArrayList<>();
      for (int i = 0; i < outputs.size(); i++) {
        blocks.add(new BlockRequest(i, outputs.get(i), 1, 2, null));
      }
      return blocks;
    }

    List<String> lines() {
      List<String> lines = new ArrayList<>();
      RdmaEndpoint at = peer.endpoint();
      lines.add("%s %d %s".formatted(at.host(), at.port(), at.bootNonce().toHex()));
      for (DescriptorRef ref : outputs) {
        lines.add("%d %d %d %d %d %d"
            .formatted(
                ref.address(),
                ref.rkey(),
                ref.generation(),
                ref.shuffleId(),
                ref.mapId(),
                ref.partitions()));
      }
      lines.add("END");
      return lines;
    }

    static Published read(BufferedReader in) throws IOException {
      String[] at = words(in.readLine());
      PeerId peer = new PeerId(
          EXECUTOR, new RdmaEndpoint(at[0], Integer.parseInt(at[1]), Nonce.ofHex(at[2])));
      List<DescriptorRef> outputs = new ArrayList<>();
      String[] words = words(in.readLine());
      while (words.length == 6) {
        outputs.add(new DescriptorRef(
            Long.parseLong(words[0]),
            Integer.parseInt(words[1]),
            Long.parseLong(words[2]),
            Integer.parseInt(words[3]),
            Long.parseLong(words[4]),
            Integer.parseInt(words[5])));
        words = words(in.readLine());
      }
      return new Published(peer, outputs);
    }

    private static String[] words(String line) throws IOException {
      if (line == null) {
        throw new IOException("the peer said nothing");
      }
      return line.split(" ");
    }
  }

  private FetchPeer() {}

  /**
   * Starts a peer in a process. Where {@code RDMA_TEST_PEER} names a host and port, a server is
   * started on that host: what listens there takes the arguments as the first line, couples the
   * connection with the server's input and output, and kills the server when the connection ends.
   */
  static Process start(List<String> environment, String... arguments) throws IOException {
    String remote = System.getenv("RDMA_TEST_PEER");
    if (remote != null && arguments[0].equals("serve")) {
      List<String> connect = new ArrayList<>(List.of("busybox", "nc"));
      connect.addAll(List.of(remote.split(":", 2)));
      Process process = new ProcessBuilder(connect)
          .redirectError(ProcessBuilder.Redirect.INHERIT)
          .start();
      process
          .getOutputStream()
          .write((String.join(" ", arguments) + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
      return process;
    }
    return startUnder(List.of(), environment, arguments);
  }

  /** Starts a peer on this host under a command such as prlimit. */
  static Process startUnder(List<String> prefix, List<String> environment, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classPath()));
    command.add(FetchPeer.class.getName());
    command.addAll(Arrays.asList(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    for (String variable : environment) {
      String[] nameAndValue = variable.split("=", 2);
      builder.environment().put(nameAndValue[0], nameAndValue[1]);
    }
    return builder.start();
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    if (arguments[0].equals("serve")) {
      serve(
          in,
          Path.of(arguments[1]),
          Integer.parseInt(arguments[2]),
          Integer.parseInt(arguments[3]),
          Integer.parseInt(arguments[4]));
    } else {
      read(
          in,
          TestTransports.impatient(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2])),
          Integer.parseInt(arguments[3]),
          Integer.parseInt(arguments[4]));
    }
  }

  private static void serve(
      BufferedReader in, Path directory, int port, int outputs, int blockBytes) throws Exception {
    try (RdmaTransport transport =
            TestTransports.open(EXECUTOR, TestTransports.settings(port, 1 << 20));
        RegisteredArena arena = TestTransports.arena(transport)) {
      List<TestMapOutput> published = new ArrayList<>();
      for (int i = 0; i < outputs; i++) {
        published.add(TestMapOutput.publish(
            transport.protectionDomain(), arena, directory, i, 100, blockBytes, 100));
      }
      PeerId self = TestTransports.peerOf(EXECUTOR, transport);
      List<DescriptorRef> refs = published.stream().map(TestMapOutput::ref).toList();
      new Published(self, refs).lines().forEach(System.out::println);
      System.out.flush();
      while (in.readLine() != null) {
        TimeUnit.MILLISECONDS.sleep(1);
      }
      for (TestMapOutput output : published) {
        output.close();
      }
    }
  }

  private static void read(BufferedReader in, TransportSettings settings, int tcpPort, int peers)
      throws Exception {
    List<Published> servers = new ArrayList<>();
    for (int i = 0; i < peers; i++) {
      servers.add(Published.read(in));
    }
    InetSocketAddress tcpAddress =
        tcpPort == 0 ? null : new InetSocketAddress(InetAddress.getLoopbackAddress(), tcpPort);
    try (RdmaTransport transport = TestTransports.open("reader", settings);
        BlockFetcher fetcher = new BlockFetcher(transport, new FetchSettings(2, 1_000, 60_000))) {
      String line = in.readLine();
      for (int round = 0; line != null; round++, line = in.readLine()) {
        Published published = servers.get(line.charAt(line.length() - 1) - '0');
        List<BlockRequest> blocks = published.blocks();
        CollectingListener listener = new CollectingListener(blocks.size());
        fetcher.fetch(published.peer(), tcpAddress, blocks, listener);
        listener.await();
        System.out.println("round %d good %d failed %s"
            .formatted(round, listener.blocks.size(), listener.failures));
      }
      sayWhatIsLeft(transport);
      System.out.println("mismatches %d reconnects %d"
          .formatted(
              fetcher.stats().checksumMismatches.sum(),
              transport.stats().reconnects.sum()));
    }
  }

  private static void sayWhatIsLeft(RdmaTransport transport) throws InterruptedException {
    try {
      TestTransports.awaitNoLeases(transport);
    } catch (AssertionError e) {
      System.out.println("zombies %d undestroyed %d"
          .formatted(
              transport.buffers().usage().zombieBuffers(),
              transport.stats().queuePairsNotDestroyed.sum()));
    }
  }
}
