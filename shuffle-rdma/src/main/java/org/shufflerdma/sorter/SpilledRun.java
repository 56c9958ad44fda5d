/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.BufferedInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.apache.spark.SparkEnv;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.internal.config.package$;
import org.apache.spark.network.util.LimitedInputStream;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.DiskBlockObjectWriter;
import org.apache.spark.storage.TempShuffleBlockId;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Sorted records in a file that Spark's disk writer has written, compressed and encrypted like shuffle
 * files. Closing it deletes the file. Not thread-safe.
 */
final class SpilledRun extends Run implements AutoCloseable {
  private static final int RECORDS_WRITTEN_AT_A_TIME = 64;
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  /** A part of the file with a serialization stream of its own. */
  private record Segment(long offset, long lengthBytes, long records) {}

  private final SparkEnv env;
  private final SerializerInstance serializer;
  private final BlockId block;
  private final File file;
  private final ArrayDeque<Segment> segments = new ArrayDeque<>();
  private @Nullable DeserializationStream stream;

  /** The records of {@link #stream} that have not been read yet. */
  private long unread;

  private long lengthBytes;

  private SpilledRun(SparkEnv env, SerializerInstance serializer, BlockId block, File file) {
    super(new Object[1], new Object[1]); // as there may be many files, and large records
    this.env = env;
    this.serializer = serializer;
    this.block = block;
    this.file = file;
  }

  /**
   * Writes all records that are left of a merge.
   *
   * @throws IOException if they cannot be read or written; there is no file then
   */
  static SpilledRun write(SparkEnv env, SerializerInstance serializer, RunMerge merge)
      throws IOException {
    Tuple2<TempShuffleBlockId, File> created =
        env.blockManager().diskBlockManager().createTempShuffleBlock();
    SpilledRun run = new SpilledRun(env, serializer, created._1(), created._2());
    DiskBlockObjectWriter writer = env.blockManager()
        .getDiskWriter(
            run.block,
            run.file,
            serializer,
            (int) ((long) env.conf().get(package$.MODULE$.SHUFFLE_FILE_BUFFER_SIZE()) * 1024),
            new ShuffleWriteMetrics());
    try {
      run.writeAll(writer, merge);
    } catch (Throwable e) {
      writer.closeAndDelete();
      throw e;
    }
    return run;
  }

  private void writeAll(DiskBlockObjectWriter writer, RunMerge merge) throws IOException {
    long recordsOfSegment = (long) env.conf().get(package$.MODULE$.SHUFFLE_SPILL_BATCH_SIZE());
    Object[] takenKeys = new Object[RECORDS_WRITTEN_AT_A_TIME];
    Object[] takenValues = new Object[RECORDS_WRITTEN_AT_A_TIME];
    long records = 0;
    int count = merge.take(takenKeys, takenValues);
    while (count > 0) {
      for (int i = 0; i < count; i++) {
        writer.write(takenKeys[i], takenValues[i]);
        records++;
        if (records == recordsOfSegment) {
          commit(writer, records);
          records = 0;
        }
      }
      count = merge.take(takenKeys, takenValues);
    }
    if (records > 0) {
      commit(writer, records);
    }
    writer.close();
  }

  private void commit(DiskBlockObjectWriter writer, long records) {
    long committed = writer.commitAndGet().length();
    segments.add(new Segment(lengthBytes, committed, records));
    lengthBytes += committed;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  @Override
  boolean fill() throws IOException {
    DeserializationStream from = streamOfNext();
    if (from == null) {
      return false;
    }
    keys[0] = from.readKey(ANY);
    values[0] = from.readValue(ANY);
    next = 0;
    end = 1;
    unread--;
    return true;
  }

  /** Returns the stream from which to read the next record, or null if there is none. */
  private @Nullable DeserializationStream streamOfNext() throws IOException {
    if (unread == 0) {
      closeStream();
      Segment segment = segments.poll();
      if (segment == null) {
        close();
        return null;
      }
      stream = open(segment);
      unread = segment.records();
    }
    return stream;
  }

  private DeserializationStream open(Segment segment) throws IOException {
    FileInputStream in = new FileInputStream(file);
    try {
      in.getChannel().position(segment.offset());
      return serializer.deserializeStream(env.serializerManager()
          .wrapStream(
              block, new BufferedInputStream(new LimitedInputStream(in, segment.lengthBytes()))));
    } catch (Throwable e) {
      in.close();
      throw e;
    }
  }

  private void closeStream() {
    DeserializationStream open = stream;
    stream = null;
    if (open != null) {
      open.close();
    }
  }

  @Override
  public void close() {
    segments.clear();
    Arrays.fill(keys, null);
    Arrays.fill(values, null);
    try {
      closeStream();
    } finally {
      file.delete();
    }
  }
}
