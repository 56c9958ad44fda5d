/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.function.IntFunction;
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
 * first, and the row. Spark's stream, a DataOutputStream on top of a BufferedOutputStream, takes four locks for a row that is
 * flushed at once, and copies it once more.
 *
 * <p>This class is never initialized where there is no Spark SQL. It may not extend or implement anything of it, because the JVM
 * loads it to verify {@link RecordStreams}.
 */
final class RowStream extends RecordStreams {
  private static final Logger LOG = LoggerFactory.getLogger(RowStream.class);

  /** So many bytes at a time are copied of a row that lies in Spark's pages, as in Spark's stream. */
  private static final int COPY_BYTES = 4096;

  private static final boolean LIKE_SPARK = writesLikeSpark();

  private final IntFunction<? extends OutputStream> partitions;

  /** SQL's <i>data size</i>, by which adaptive execution plans. */
  private final @Nullable SQLMetric dataSize;

  private final byte[] copied = new byte[COPY_BYTES];

  /**
   * @param serializer one that {@link #accepts} has accepted
   * @param partitions gives the stream of a partition
   */
  RowStream(Serializer serializer, IntFunction<? extends OutputStream> partitions) {
    this.partitions = partitions;
    this.dataSize = ((UnsafeRowSerializerInstance) serializer.newInstance())
        .org$apache$spark$sql$execution$UnsafeRowSerializerInstance$$dataSize;
  }

  /** Whether it is Spark's serializer of rows, and this class does what that does in this build of Spark. */
  static boolean accepts(Serializer serializer) {
    return serializer.getClass() == UnsafeRowSerializer.class && LIKE_SPARK;
  }

  /** Has a row written by both, because a vendor's Spark may make other bytes of it, or lack a member. */
  private static boolean writesLikeSpark() {
    try {
      SQLMetric size = new SQLMetric("size", 0);
      UnsafeRowSerializer serializer = new UnsafeRowSerializer(1, size);
      UnsafeRow row = new UnsafeRow(1);
      row.pointTo(new byte[2 * Long.BYTES], 2 * Long.BYTES);
      row.setLong(0, 0x0102030405060708L);
      ByteArrayOutputStream sparks = new ByteArrayOutputStream();
      SerializationStream stream = serializer.newInstance().serializeStream(sparks);
      stream.writeValue(row, ANY);
      stream.flush();
      ByteArrayOutputStream ours = new ByteArrayOutputStream();
      new RowStream(serializer, partition -> ours).write(0, 0, row);
      if (Arrays.equals(sparks.toByteArray(), ours.toByteArray())
          && size.value() == 2L * row.getSizeInBytes()) {
        return true;
      }
      LOG.warn(
          "Spark's own stream serializes rows of SQL, because this build of Spark does it otherwise");
    } catch (IOException | RuntimeException | LinkageError | AssertionError e) {
      LOG.warn("Spark's own stream serializes rows of SQL, because of {}", e.toString());
    }
    return false;
  }

  @Override
  void write(int partition, Object key, Object value) throws IOException {
    UnsafeRow row = (UnsafeRow) value;
    int length = row.getSizeInBytes();
    if (dataSize != null) {
      dataSize.add(length);
    }
    OutputStream out = partitions.apply(partition);
    out.write(length >>> 24);
    out.write(length >>> 16);
    out.write(length >>> 8);
    out.write(length);
    row.writeToStream(out, copied);
  }

  @Override
  public void close() {}
}
