/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.hadoop.io.Text;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

final class GeneratedRowsTest {
  @Test
  void rangesJoinToTheRowsOfOneRange() {
    List<byte[]> joined = rows(0, 40);
    joined.addAll(rows(40, 60));
    assertThat(joined).hasSize(100).containsExactlyElementsOf(rows(0, 100));
  }

  @Test
  void rowsHaveTenBytesOfKeyAndNinetyOfValue() {
    Tuple2<Text, Text> row = new GeneratedRows(12, 1).next();
    assertThat(row._1().getLength()).isEqualTo(10);
    assertThat(row._2().getLength()).isEqualTo(90);
  }

  @Test
  void readingPastTheEndIsRefused() {
    GeneratedRows none = new GeneratedRows(5, 0);
    assertThat(none.hasNext()).isFalse();
    assertThatThrownBy(none::next).isInstanceOf(NoSuchElementException.class);
  }

  private static List<byte[]> rows(long first, long count) {
    List<byte[]> rows = new ArrayList<>();
    new GeneratedRows(first, count).forEachRemaining(row -> {
      byte[] bytes = new byte[100];
      System.arraycopy(row._1().getBytes(), 0, bytes, 0, 10);
      System.arraycopy(row._2().getBytes(), 0, bytes, 10, 90);
      rows.add(bytes);
    });
    return rows;
  }
}
