/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.jspecify.annotations.Nullable;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Serializes the records of a map task into the buffers of their partitions. For the thread of the task. */
abstract class RecordStreams implements AutoCloseable {
  static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  /** By its name, as there may be no Spark SQL. */
  private static final String ROWS = "org.apache.spark.sql.execution.UnsafeRowSerializer";

  /**
   * Rows of SQL need no stream of a serializer. With other serializers one stream does for all partitions if serialized records
   * may change places; otherwise each partition has one.
   */
  static RecordStreams of(Serializer serializer, PartitionBuffers buffers, int partitions) {
    if (serializer.getClass().getName().equals(ROWS) && RowStream.accepts(serializer)) {
      return new RowStream(serializer, buffers::of);
    }
    return serializer.supportsRelocationOfSerializedObjects()
        ? new Shared(serializer.newInstance(), buffers)
        : new Separate(serializer.newInstance(), buffers, partitions);
  }

  abstract void write(int partition, Object key, Object value) throws IOException;

  @Override
  public abstract void close() throws IOException;

  private static final class Shared extends RecordStreams {
    private final PartitionBuffers buffers;
    private final SerializationStream stream;
    private OutputStream partition = OutputStream.nullOutputStream();

    Shared(SerializerInstance serializer, PartitionBuffers buffers) {
      this.buffers = buffers;
      this.stream = serializer.serializeStream(new OutputStream() {
        @Override
        public void write(int value) throws IOException {
          partition.write(value);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
          partition.write(bytes, offset, length);
        }
      });
    }

    @Override
    void write(int number, Object key, Object value) {
      partition = buffers.of(number);
      stream.writeKey(key, ANY);
      stream.writeValue(value, ANY);
      stream.flush();
    }

    /** What a serializer writes at the end of a stream belongs to no partition. */
    @Override
    public void close() {
      partition = OutputStream.nullOutputStream();
      stream.close();
    }
  }

  private static final class Separate extends RecordStreams {
    private final SerializerInstance serializer;
    private final PartitionBuffers buffers;
    private final @Nullable SerializationStream[] streams;

    Separate(SerializerInstance serializer, PartitionBuffers buffers, int partitions) {
      this.serializer = serializer;
      this.buffers = buffers;
      this.streams = new SerializationStream[partitions];
    }

    @Override
    void write(int number, Object key, Object value) {
      SerializationStream stream = streams[number];
      if (stream == null) {
        stream = serializer.serializeStream(buffers.of(number));
        streams[number] = stream;
      }
      stream.writeKey(key, ANY);
      stream.writeValue(value, ANY);
    }

    @Override
    public void close() {
      for (SerializationStream stream : streams) {
        if (stream != null) {
          stream.close();
        }
      }
    }
  }
}
