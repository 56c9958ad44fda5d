/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.StatusReporter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.map.WrappedMapper;
import org.apache.hadoop.mapreduce.task.MapContextImpl;
import scala.Tuple2;

/**
 * The rows [firstRow, firstRow + rowCount) of TeraGen, made by TeraGen's own mapper, one row per
 * call. The two {@link Text} objects are the mapper's and are overwritten by the next row. One task
 * owns it.
 */
final class GeneratedRows implements Iterator<Tuple2<Text, Text>> {
  private final TeraGen.SortGenMapper mapper = new TeraGen.SortGenMapper();
  private final LastRow lastRow = new LastRow();
  private final Mapper<LongWritable, NullWritable, Text, Text>.Context context;
  private final LongWritable row = new LongWritable();
  private final long endRow;
  private long nextRow;

  GeneratedRows(long firstRow, long rowCount) {
    this.nextRow = firstRow;
    this.endRow = Math.addExact(firstRow, rowCount);
    this.context = mapContext(lastRow);
  }

  // Row numbers are all that TeraGen's mapper reads; it never asks for a reader, committer or
  // split.
  @SuppressWarnings("NullAway")
  private static Mapper<LongWritable, NullWritable, Text, Text>.Context mapContext(
      RecordWriter<Text, Text> writer) {
    return new WrappedMapper<LongWritable, NullWritable, Text, Text>()
        .getMapContext(new MapContextImpl<>(
            new Configuration(false),
            new TaskAttemptID(),
            null,
            writer,
            null,
            new CountersOnly(),
            null));
  }

  @Override
  public boolean hasNext() {
    return nextRow < endRow;
  }

  @Override
  public Tuple2<Text, Text> next() {
    if (!hasNext()) {
      throw new NoSuchElementException("row " + nextRow + " is past the end of the range");
    }
    row.set(nextRow++);
    try {
      mapper.map(row, NullWritable.get(), context);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while generating row " + row.get(), e);
    }
    return lastRow.pair;
  }

  private static final class LastRow extends RecordWriter<Text, Text> {
    private Tuple2<Text, Text> pair = new Tuple2<>(new Text(), new Text());

    @Override
    public void write(Text key, Text value) {
      pair = new Tuple2<>(key, value);
    }

    @Override
    public void close(TaskAttemptContext context) {}
  }

  private static final class CountersOnly extends StatusReporter {
    private final Counters counters = new Counters();

    @Override
    public Counter getCounter(Enum<?> name) {
      return counters.findCounter(name);
    }

    @Override
    public Counter getCounter(String group, String name) {
      return counters.findCounter(group, name);
    }

    @Override
    public void progress() {}

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void setStatus(String status) {}
  }
}
