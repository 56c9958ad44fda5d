/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.shufflerdma.sorter.Unchecked;
import scala.Option;

class CheckedBlockStreamTest {
  private static final byte[] BYTES = new byte[10_000];

  private static RuntimeException fetchFailed(IOException cause) {
    throw Unchecked.thrown(new FetchFailedException(
        BlockManagerId.apply("1", "worker-1", 7079, Option.empty()),
        4,
        70,
        0,
        2,
        "corrupt",
        cause));
  }

  private static InputStream open(byte[] compressed) throws IOException {
    return new CheckedBlockStream(
        new GZIPInputStream(new ByteArrayInputStream(compressed)),
        CheckedBlockStreamTest::fetchFailed);
  }

  private static byte[] compressed() throws IOException {
    ByteArrayOutputStream compressed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(compressed)) {
      out.write(BYTES);
    }
    return compressed.toByteArray();
  }

  @Test
  void bytesThatDecodeComeAsTheyAre() throws Exception {
    try (InputStream in = open(compressed())) {
      assertThat(in.readAllBytes()).isEqualTo(BYTES);
    }
  }

  @Test
  void bytesThatDoNotDecodeMeanThatTheMapOutputIsLost() throws Exception {
    byte[] corrupt = compressed();
    corrupt[corrupt.length - 5] ^= 1; // the checksum at the end
    try (InputStream in = open(corrupt)) {
      assertThatThrownBy(in::readAllBytes)
          .isInstanceOf(FetchFailedException.class)
          .hasCauseInstanceOf(IOException.class);
    }
  }
}
