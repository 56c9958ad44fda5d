/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.FrameSeal;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;

/** A client at the port of the node service that sends what a test likes. */
final class RawReducer implements Closeable {
  static final int NAME_BYTES = 128;
  static final Hello.Form HELLO = new Hello.Form(0x53524d52, 2, NAME_BYTES);

  final Socket socket = new Socket();
  private final DataInputStream in;
  private @Nullable FrameSeal seal;

  RawReducer(int port) throws IOException {
    this(port, 0);
  }

  /** @param receiveBytes of the socket's buffer; 0 for as many as the system likes */
  RawReducer(int port, int receiveBytes) throws IOException {
    if (receiveBytes > 0) {
      socket.setReceiveBufferSize(receiveBytes);
    }
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(Scene.TIMEOUT_MS);
    socket.setSoLinger(true, 0); // else each of many clients keeps a port for a minute
    in = new DataInputStream(socket.getInputStream());
  }

  void send(ByteBuffer body) throws IOException {
    sendRaw(frame(body));
  }

  /** The next frame. */
  byte[] frame(ByteBuffer body) {
    return ControlChannel.frameOf(body, seal).array();
  }

  void sendRaw(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  static ByteBuffer hello(String name, byte[] key) throws IOException {
    return hello(name, key, NodeServiceClient.contextOf(name));
  }

  static ByteBuffer hello(String name, byte[] key, byte[] context) {
    byte[] challenge = new byte[MutualProof.CHALLENGE_BYTES];
    return HELLO.encode(new Hello(
        challenge,
        new MutualProof(key).hello(challenge, context),
        Arrays.copyOf(name.getBytes(StandardCharsets.UTF_8), NAME_BYTES)));
  }

  /** Says that it looks for the job, and that it knows the key. */
  RawReducer greet(String name, byte[] key) throws IOException {
    send(hello(name, key));
    return this;
  }

  /** Proves itself. */
  RawReducer prove(JobGrant grant) throws IOException {
    byte[] key = grant.keyFor("reducer-v1");
    greet(grant.job(), key);
    byte[] ofServer = new byte[MutualProof.CHALLENGE_BYTES];
    in.readInt();
    in.readFully(ofServer);
    in.skipNBytes(MutualProof.PROOF_BYTES);
    MutualProof proof = new MutualProof(key);
    MutualProof.Exchange exchange = new MutualProof.Exchange(
        new byte[MutualProof.CHALLENGE_BYTES], ofServer, NodeServiceClient.contextOf(grant.job()));
    send(proof.proof(exchange));
    seal = new FrameSeal(proof.frameKey(exchange), 'C');
    return this;
  }

  static ByteBuffer fetch(int id, int reduce, String host, List<String> outputs) {
    ByteBuffer body = ByteBuffer.allocate(64 << 10).put((byte) 1).putInt(id).putInt(reduce);
    put(body, host).putShort((short) outputs.size());
    outputs.forEach(output -> put(body, output));
    return body.flip();
  }

  private static ByteBuffer put(ByteBuffer body, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return body.putShort((short) bytes.length).put(bytes);
  }

  static ByteBuffer release(int id, int output) {
    return ByteBuffer.allocate(7)
        .put((byte) 2)
        .putInt(id)
        .putShort((short) output)
        .flip();
  }

  /** The body of the next frame. */
  ByteBuffer receive() throws IOException {
    byte[] body = new byte[in.readInt()];
    in.readFully(body);
    in.skipNBytes(FrameSeal.SIZE_BYTES);
    return ByteBuffer.wrap(body);
  }

  /** Waits for the end of the connection, and returns the bytes that came before it. */
  long awaitEnd() throws IOException {
    long bytes = 0;
    try {
      while (in.read() >= 0) {
        bytes++;
      }
    } catch (SocketException | EOFException e) {
      return bytes; // with a reset
    }
    return bytes;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
