/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import org.apache.spark.api.java.JavaSparkContext;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.benchmarks.terasort.CheckedSort;

/** The sort of bin/terasort, whose input and output are files. Hadoop validates what comes out. */
final class TeraSortJob implements Job {
  private static final int MAPS = 16;
  private static final int REDUCES = 16;

  private final JavaSparkContext spark;
  private final CheckedSort sort;

  TeraSortJob(JavaSparkContext spark, String directory, long rows) throws Exception {
    this.spark = spark;
    this.sort = CheckedSort.open("file://" + directory + "/terasort", spark, rows, MAPS);
  }

  @Override
  public long run() throws Exception {
    sort.sort(spark, REDUCES);
    return 0;
  }

  @Override
  public long digest(long result) throws Exception {
    @Nullable String fault = sort.fault();
    if (fault != null) {
      throw new IllegalStateException(fault);
    }
    return Long.parseUnsignedLong(sort.checksum(), 16);
  }
}
