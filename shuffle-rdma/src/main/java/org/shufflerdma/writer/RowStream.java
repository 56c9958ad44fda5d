/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.UnsafeRowSerializerInstance;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serializes rows of SQL with the bytes of Spark's {@code UnsafeRowSerializer}: the length of a row in four bytes, the highest
 * first, and the row. Spark's stream takes seven locks for a row that is flushed at once, and that is most of what a short row
 * costs. Executors without Spark SQL never load this class.
 */
final class RowStream extends RecordStreams {
  private static final Logger LOG = LoggerFactory.getLogger(RowStream.class);

  /** For rows that are not in an array of bytes. */
  private static final int COPY_BYTES = 4096;

  private static final String USES_SPARKS =
      "Rows of SQL are serialized by the stream of this build of Spark";

  private static final boolean SPARKS_BYTES = hasSparksBytes();

  private final PartitionBuffers buffers;

  /** SQL's <i>data size</i>, by which adaptive execution plans. */
  private final @Nullable SQLMetric dataSize;

  private final byte[] copied = new byte[COPY_BYTES];

  /** Takes a serializer only if {@link #accepts} returns true. */
  RowStream(Serializer serializer, PartitionBuffers buffers) {
    this.buffers = buffers;
    this.dataSize = dataSizeOf((UnsafeRowSerializer) serializer);
  }

  /** Whether the serializer is Spark's for rows, and in this build of Spark as this class knows it. */
  static boolean accepts(Serializer serializer) {
    return serializer.getClass() == UnsafeRowSerializer.class && SPARKS_BYTES;
  }

  private static @Nullable SQLMetric dataSizeOf(UnsafeRowSerializer serializer) {
    return ((UnsafeRowSerializerInstance) serializer.newInstance())
        .org$apache$spark$sql$execution$UnsafeRowSerializerInstance$$dataSize;
  }

  /** Compares the bytes of a row, because a vendor's Spark may have changed them, or lack the member. */
  private static boolean hasSparksBytes() {
    UnsafeRow row = new UnsafeRow(1);
    byte[] bytes =
        ByteBuffer.allocate(2 * Long.BYTES).putLong(8, 0x0102030405060708L).array();
    row.pointTo(bytes, bytes.length);
    ByteArrayOutputStream sparks = new ByteArrayOutputStream();
    try {
      UnsafeRowSerializer serializer = new UnsafeRowSerializer(1, null);
      SerializationStream stream = serializer.newInstance().serializeStream(sparks);
      stream.writeKey(0, ANY);
      stream.writeValue(row, ANY);
      stream.flush();
      byte[] ours = ByteBuffer.allocate(Integer.BYTES + bytes.length)
          .putInt(bytes.length)
          .put(bytes)
          .array();
      if (dataSizeOf(serializer) == null && Arrays.equals(sparks.toByteArray(), ours)) {
        return true;
      }
      LOG.warn("{}, which gives them other bytes", USES_SPARKS);
    } catch (LinkageError | RuntimeException e) {
      LOG.warn("{}: {}", USES_SPARKS, e.toString());
    }
    return false;
  }

  @Override
  void write(int partition, Object key, Object value) throws IOException {
    UnsafeRow row = (UnsafeRow) value;
    int lengthBytes = row.getSizeInBytes();
    if (dataSize != null) {
      dataSize.add(lengthBytes);
    }
    PartitionBuffer buffer = buffers.of(partition);
    buffer.writeInt(lengthBytes);
    row.writeToStream(buffer, copied);
  }

  @Override
  public void close() {}
}
