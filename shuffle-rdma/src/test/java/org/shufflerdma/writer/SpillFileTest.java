/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpillFileTest {
  @TempDir
  private Path folder;

  private SpillFile file() throws IOException {
    return new SpillFile(
        folder.resolve("spilled").toFile(), 3, UnaryOperator.identity(), UnaryOperator.identity());
  }

  private static void append(SpillFile file, int partition, String bytes) throws IOException {
    try (OutputStream out = file.append(partition)) {
      out.write(bytes.getBytes(StandardCharsets.US_ASCII));
    }
  }

  private static String copied(SpillFile file, int partition) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    file.copyTo(partition, to);
    return to.toString(StandardCharsets.US_ASCII);
  }

  @Test
  void theBytesOfAPartitionComeInTheOrderOfItsSpills() throws IOException {
    try (SpillFile file = file()) {
      for (int spill = 0; spill < 20; spill++) {
        append(file, 0, "a" + spill + " ");
        append(file, 2, "b");
      }
      assertThat(file.isEmpty(1)).isTrue();
      assertThat(copied(file, 2)).isEqualTo("b".repeat(20));
      assertThat(copied(file, 0)).startsWith("a0 a1 a2 ").endsWith("a18 a19 ");
    }
    assertThat(folder).isEmptyDirectory();
  }

  /** For an external shuffle service that deletes files, Spark has made it before. */
  @Test
  void aFileThatCannotBeOpenedIsDeleted() {
    assertThat(folder.resolve("spilled").toFile().mkdir())
        .isTrue(); // which no stream can be opened for
    assertThatThrownBy(this::file).isInstanceOf(IOException.class);
    assertThat(folder).isEmptyDirectory();
  }

  /** Those of Spark's encryption hold memory outside the heap. */
  @Test
  void theStreamsOfAllSegmentsAreClosed() throws IOException {
    AtomicInteger closed = new AtomicInteger();
    UnaryOperator<InputStream> counting = in -> new FilterInputStream(in) {
      @Override
      public void close() throws IOException {
        closed.incrementAndGet();
        super.close();
      }
    };
    try (SpillFile file =
        new SpillFile(folder.resolve("spilled").toFile(), 2, UnaryOperator.identity(), counting)) {
      append(file, 0, "a");
      append(file, 1, "b");
      append(file, 0, "c");
      assertThat(copied(file, 0)).isEqualTo("ac");
      assertThat(copied(file, 1)).isEqualTo("b");
      assertThat(closed).hasValue(3);
    }
  }

  @Test
  void aFileThatHasLostItsEndIsRefused() throws IOException {
    try (SpillFile file = file()) {
      append(file, 0, "to stay");
      append(file, 1, "to be lost");
      assertThat(copied(file, 0)).isEqualTo("to stay");
      try (RandomAccessFile access =
          new RandomAccessFile(folder.resolve("spilled").toFile(), "rw")) {
        access.setLength(access.length() - 1);
      }
      assertThatThrownBy(() -> copied(file, 1))
          .isInstanceOf(EOFException.class)
          .hasMessageContaining("ends before 17");
    }
  }
}
