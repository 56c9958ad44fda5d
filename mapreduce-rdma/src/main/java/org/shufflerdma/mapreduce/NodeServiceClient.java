/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A connection to the node service of this host, on which both ends have proved that they know the job's grant. What is said
 * on it is in docs/wire-formats.md, as are the sizes here. Used by one thread at a time, which is never kept waiting for longer than
 * the timeout. Its owner closes it, which releases all outputs.
 */
public final class NodeServiceClient implements Closeable {
  private static final int MAGIC = 0x53524d52; // "SRMR"
  private static final int VERSION = 2;
  private static final int NAME_BYTES = 128;
  private static final int CHALLENGE_BYTES = 16;
  private static final int MAC_BYTES = 32;
  private static final int SEAL_BYTES = 16;
  private static final int HELLO_BYTES = 8 + CHALLENGE_BYTES + MAC_BYTES + NAME_BYTES;
  private static final int MAX_ANSWER_BYTES = 4 << 10;
  private static final byte FETCH = 1;
  private static final byte RELEASE = 2;
  private static final byte OUTPUT = 1;
  private static final byte REFUSAL = 2;
  private static final byte[] NOTHING = {};

  /** The number of no request; requests count from 1. */
  private static final int NO_REQUEST = 0;

  /** If others wait, the service takes back the memory of a reducer that holds outputs and has been silent for 10 s. */
  private static final long MOST_SILENT_NS = 8_000_000_000L;

  private static final long SPEAK_NS = 1_000_000_000L;

  /** Others may have the memory of the outputs that the service has named. */
  public static final class LostOutputsException extends IOException {
    private static final long serialVersionUID = 1;

    private LostOutputsException(String why, @Nullable Throwable cause) {
      super(why + ", and others may have the memory of this reducer's outputs", cause);
    }
  }

  /** What has become of one output. */
  public static final class Answer {
    private final int output;
    private final @Nullable String refusal;
    private final String file;
    private final long offset;
    private final long lengthBytes;
    private final long rawBytes;

    private Answer(
        int output,
        @Nullable String refusal,
        String file,
        long offset,
        long lengthBytes,
        long rawBytes) {
      this.output = output;
      this.refusal = refusal;
      this.file = file;
      this.offset = offset;
      this.lengthBytes = lengthBytes;
      this.rawBytes = rawBytes;
    }

    /** Its place in the list that was asked for. */
    public int output() {
      return output;
    }

    /** Why it must be fetched by HTTP; null if its bytes are in the file. */
    public @Nullable String refusal() {
      return refusal;
    }

    /** Where the bytes are until the output is released. */
    public String file() {
      return file;
    }

    public long offset() {
      return offset;
    }

    public long lengthBytes() {
      return lengthBytes;
    }

    /** Its length without compression. */
    public long rawBytes() {
      return rawBytes;
    }
  }

  /** What is done while an answer is waited for. */
  private interface Pulse {
    void beat() throws IOException;
  }

  /** Reads until a point in time, however few bytes come at a time. */
  private static final class TimedInput extends FilterInputStream {
    private static final long STEP_MS = 1_000;

    private final Socket socket;
    private final int timeoutMs;
    private long untilNs;
    private Pulse pulse = () -> {};

    TimedInput(Socket socket, int timeoutMs) throws IOException {
      super(socket.getInputStream());
      this.socket = socket;
      this.timeoutMs = timeoutMs;
      begin();
    }

    void begin() {
      untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      while (true) {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - System.nanoTime());
        if (leftMs <= 0) {
          throw new SocketTimeoutException("no whole answer within " + timeoutMs + " ms");
        }
        socket.setSoTimeout((int) Math.min(leftMs, STEP_MS));
        try {
          return super.read(into, offset, length);
        } catch (SocketTimeoutException e) {
          pulse.beat();
        }
      }
    }
  }

  private final Socket socket;
  private final TimedInput time;
  private final DataInputStream in;
  private final Hmac frames;
  private long sent;
  private long received;
  private int lastId = NO_REQUEST;
  private long saidNs = System.nanoTime();

  private NodeServiceClient(Socket socket, TimedInput time, DataInputStream in, Hmac frames) {
    this.socket = socket;
    this.time = time;
    this.in = in;
    this.frames = frames;
    time.pulse = this::stay;
  }

  /**
   * Connects and proves that this end knows the grant, and that the service does.
   *
   * @param timeoutMs for each answer
   */
  public static NodeServiceClient connect(JobGrant grant, int port, int timeoutMs)
      throws IOException {
    Socket socket = new Socket();
    try {
      socket.setTcpNoDelay(true);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), timeoutMs);
      TimedInput time = new TimedInput(socket, timeoutMs);
      DataInputStream in = new DataInputStream(new BufferedInputStream(time));
      return new NodeServiceClient(socket, time, in, new Hmac(prove(grant, socket, in)));
    } catch (Throwable t) {
      socket.close();
      throw t;
    }
  }

  /** Returns the key of the frames that follow. */
  private static byte[] prove(JobGrant grant, Socket socket, DataInputStream in)
      throws IOException {
    Hmac proof = new Hmac(grant.keyFor("reducer-v1"));
    byte[] name = grant.job().getBytes(StandardCharsets.UTF_8);
    byte[] context = contextOf(grant.job());
    byte[] own = new byte[CHALLENGE_BYTES];
    new SecureRandom().nextBytes(own);
    if (name.length > NAME_BYTES) {
      throw new IOException("the name of " + grant.job() + " is too long");
    }
    ByteBuffer hello = ByteBuffer.allocate(HELLO_BYTES);
    hello.putInt(MAGIC).putShort((short) VERSION).putShort((short) 0);
    hello.put(own).put(proof.of(role('H'), own, NOTHING, context)).put(name);
    send(socket, hello.array(), NOTHING);
    byte[] answer = receive(in, CHALLENGE_BYTES + MAC_BYTES);
    byte[] theirs = Arrays.copyOf(answer, CHALLENGE_BYTES);
    byte[] mac = Arrays.copyOfRange(answer, CHALLENGE_BYTES, answer.length);
    if (answer.length != CHALLENGE_BYTES + MAC_BYTES
        || !MessageDigest.isEqual(mac, proof.of(role('S'), own, theirs, context))) {
      throw new IOException("the process at the port of the node service does not know the job");
    }
    send(socket, proof.of(role('C'), own, theirs, context), NOTHING);
    return proof.of(role('F'), own, theirs, context);
  }

  /** With the boot of this host's kernel, so that whoever listens here cannot have the service of another host prove itself. */
  static byte[] contextOf(String job) throws IOException {
    String boot = new String(
        Files.readAllBytes(Paths.get("/proc/sys/kernel/random/boot_id")),
        StandardCharsets.US_ASCII);
    return (job + "\0" + boot.trim()).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] role(char role) {
    return new byte[] {(byte) role};
  }

  private static void send(Socket socket, byte[] body, byte[] seal) throws IOException {
    byte[] frame = ByteBuffer.allocate(Integer.BYTES + body.length + seal.length)
        .putInt(body.length)
        .put(body)
        .put(seal)
        .array();
    socket.getOutputStream().write(frame);
  }

  private static byte[] receive(DataInputStream in, int maxBytes) throws IOException {
    int bytes = in.readInt();
    if (bytes < 0 || bytes > maxBytes) {
      throw new IOException("a frame of " + bytes + " bytes");
    }
    byte[] body = new byte[bytes];
    in.readFully(body);
    return body;
  }

  private byte[] seal(char direction, long frame, byte[] body) {
    byte[] number = ByteBuffer.allocate(Long.BYTES).putLong(frame).array();
    return Arrays.copyOf(frames.of(role(direction), number, body), SEAL_BYTES);
  }

  private void send(ByteBuffer body) throws IOException {
    body.flip();
    byte[] bytes = new byte[body.remaining()];
    body.get(bytes);
    send(socket, bytes, seal('C', sent++, bytes));
  }

  /**
   * Asks for a partition of outputs of a host, each of which {@link #next} answers once. The outputs of requests before must have been
   * released.
   *
   * @return the number of the request
   */
  public int fetch(int reduce, String host, List<String> outputs) throws IOException {
    ByteBuffer body = ByteBuffer.allocate(sizeOf(host, outputs));
    body.put(FETCH).putInt(++lastId).putInt(reduce);
    put(body, host);
    body.putShort((short) outputs.size());
    for (String output : outputs) {
      put(body, output);
    }
    saidNs = System.nanoTime();
    send(body);
    return lastId;
  }

  private static int sizeOf(String host, List<String> outputs) {
    int bytes = 16 + 4 * host.length();
    for (String output : outputs) {
      bytes += 2 + 4 * output.length();
    }
    return bytes;
  }

  private static void put(ByteBuffer body, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    body.putShort((short) bytes.length).put(bytes);
  }

  /**
   * The bytes of an output are needed no more.
   *
   * @throws LostOutputsException as {@link #stay} does
   */
  public void release(int id, int output) throws IOException {
    long nowNs = System.nanoTime();
    if (nowNs - saidNs > MOST_SILENT_NS) {
      throw new LostOutputsException(
          "nothing was said to the node service for "
              + TimeUnit.NANOSECONDS.toMillis(nowNs - saidNs) + " ms",
          null);
    }
    saidNs = nowNs; // the service hears it later
    ByteBuffer body = ByteBuffer.allocate(8);
    body.put(RELEASE).putInt(id).putShort((short) output);
    send(body);
  }

  /**
   * Keeps the outputs of the request from being given to others. To be called whenever a part of one has been read.
   *
   * @throws LostOutputsException if that was too late, or the service has gone, so that what has been read since the last call may be
   *     another output's
   */
  public void stay() throws LostOutputsException {
    if (System.nanoTime() - saidNs > SPEAK_NS) {
      try {
        release(NO_REQUEST, 0);
      } catch (LostOutputsException e) {
        throw e;
      } catch (IOException e) {
        throw new LostOutputsException("the node service has gone", e);
      }
    }
  }

  /** Waits for what has become of an output of the request. */
  public Answer next(int id) throws IOException {
    time.begin();
    byte[] body = receive(in, MAX_ANSWER_BYTES);
    byte[] seal = new byte[SEAL_BYTES];
    in.readFully(seal);
    if (!MessageDigest.isEqual(seal, seal('S', received++, body))) {
      throw new IOException("the seal of a frame is wrong");
    }
    ByteBuffer answer = ByteBuffer.wrap(body);
    try {
      byte type = answer.get();
      int answered = answer.getInt();
      int output = answer.getShort() & 0xffff;
      if (answered != id || (type != OUTPUT && type != REFUSAL)) {
        throw new IOException("an answer of type " + type + " to the request " + answered);
      }
      if (type == REFUSAL) {
        return new Answer(output, text(answer), "", 0, 0, 0);
      }
      long offset = answer.getLong();
      long lengthBytes = answer.getLong();
      long rawBytes = answer.getLong();
      return new Answer(output, null, text(answer), offset, lengthBytes, rawBytes);
    } catch (BufferUnderflowException e) {
      throw new IOException("an answer of " + body.length + " bytes", e);
    }
  }

  private static String text(ByteBuffer in) {
    byte[] bytes = new byte[in.getShort() & 0xffff];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
