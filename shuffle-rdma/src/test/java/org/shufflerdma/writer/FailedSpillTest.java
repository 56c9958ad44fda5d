/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What becomes of bytes that are written after a map output has failed. If a spill for another consumer fails, Spark makes an
 * OutOfMemoryError of that, which some operators take for a small memory.
 */
class FailedSpillTest {
  @TempDir
  private Path folder;

  private static JavaSparkContext spark() {
    return new JavaSparkContext(new SparkConf(false)
        .setMaster("local[1]")
        .setAppName("spills")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.bindAddress", "127.0.0.1")
        .set("spark.driver.host", "127.0.0.1"));
  }

  /** As the streams of a task that has failed do when they are closed. */
  @Test
  void whatNobodyWantsAnyMoreTakesNoMemory() {
    try (JavaSparkContext context = spark()) {
      assertThat(context
              .parallelize(List.of(true, false), 1)
              .map(FailedSpillTest::memoryTakenBy)
              .collect())
          .satisfiesExactly(
              wanted -> assertThat(wanted).isGreaterThanOrEqualTo(4 << 20),
              discarded -> assertThat(discarded).isZero());
    }
  }

  private static long memoryTakenBy(boolean wanted) throws IOException {
    try (PartitionBuffers buffers = new PartitionBuffers(
        TaskContext.get(), 1, new StreamEncoding(UnaryOperator.identity()), partitions -> {
          throw new IOException("a spill");
        })) {
      buffers.of(0).write(new byte[2 << 20]);
      long before = buffers.getUsed();
      if (!wanted) {
        buffers.discard();
      }
      for (int i = 0; i < 8; i++) {
        buffers.of(0).write(new byte[1 << 20]);
      }
      return buffers.getUsed() - before;
    }
  }

  @Test
  void whatIsWrittenAfterASpillThatHasFailedIsNoOutput() {
    try (JavaSparkContext context = spark()) {
      String file = folder.resolve("spilled").toString();
      List<String> ends = context
          .parallelize(List.of(true, false), 1)
          .map(atClose -> spillInVain(file, atClose))
          .collect();
      assertThat(ends).hasSize(2).containsOnly("an earlier spill of this map output has failed");
    }
    assertThat(folder).isEmptyDirectory();
  }

  private static MemoryConsumer anotherConsumer() {
    return new MemoryConsumer(TaskContext.get().taskMemoryManager(), MemoryMode.ON_HEAP) {
      @Override
      public long spill(long size, MemoryConsumer trigger) {
        return 0;
      }
    };
  }

  /** @param atClose whether the end of a segment fails, as with encryption, or its first write */
  private static String spillInVain(String file, boolean atClose) throws IOException {
    AtomicInteger segments = new AtomicInteger();
    UnaryOperator<OutputStream> failingFirst = to -> segments.getAndIncrement() > 0
        ? to
        : new FilterOutputStream(to) {
          @Override
          public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, atClose ? length : length / 2);
            if (!atClose) {
              throw new IOException("no space left for a moment");
            }
          }

          @Override
          public void close() throws IOException {
            if (atClose) {
              throw new IOException("no space left for a moment");
            }
          }
        };
    try (PartitionBuffers buffers = new PartitionBuffers(
        TaskContext.get(),
        2,
        new StreamEncoding(UnaryOperator.identity()),
        partitions -> new SpillFile(
            Path.of(file).toFile(), partitions, failingFirst, UnaryOperator.identity()))) {
      buffers.of(0).write(new byte[2 << 20]);
      try {
        buffers.spill(1, anotherConsumer());
        return "the spill has not failed";
      } catch (IOException e) {
        if (!atClose) {
          buffers.of(1).write(1);
        }
      }
      if (buffers.isEmpty(0)) {
        return "there is an output without the partition";
      }
      buffers.moveTo(0, OutputStream.nullOutputStream());
      return "there is an output";
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }
}
