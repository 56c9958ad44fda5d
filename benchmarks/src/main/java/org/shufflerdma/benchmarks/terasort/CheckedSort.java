/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.java.JavaSparkContext;
import org.jspecify.annotations.Nullable;

/**
 * Sorts the same rows repeatedly in a context of the caller's, and has Hadoop validate each result.
 * One thread uses it.
 */
public final class CheckedSort {
  private static final String INPUT = "input";
  private static final String OUTPUT = "output";

  private final WorkDirectory directory;
  private final Validation validation;
  private final long records;
  private @Nullable String inputChecksum;

  private CheckedSort(WorkDirectory directory, Validation validation, long records) {
    this.directory = directory;
    this.validation = validation;
    this.records = records;
  }

  /**
   * Makes the input where it is not there yet.
   *
   * @param directory as a Hadoop path; keeps the input from one time to the next
   */
  public static CheckedSort open(String directory, JavaSparkContext spark, long records, int maps)
      throws Exception {
    Configuration hadoop = spark.hadoopConfiguration();
    WorkDirectory work = WorkDirectory.open(directory, hadoop);
    CheckedSort sort = new CheckedSort(work, new Validation(work, hadoop), records);
    if (!work.holds(INPUT, records * TeraSortOptions.RECORD_BYTES, maps)) {
      work.clear(INPUT);
      new SortJob(spark).generate(records, maps, work.path(INPUT));
    }
    return sort;
  }

  /** Sorts in {@code spark}; {@link #fault} returns whether it succeeded. */
  public void sort(JavaSparkContext spark, int reduces) throws Exception {
    directory.clear(OUTPUT);
    new SortJob(spark).sort(directory.path(INPUT), directory.path(OUTPUT), reduces);
  }

  /** Returns what is wrong with the last sort's output, or null. */
  public @Nullable String fault() throws Exception {
    return validation.validate(OUTPUT, checksum(), records).error();
  }

  /** Returns the checksum of the input, and so of an output without a fault, in hexadecimal. */
  public String checksum() throws Exception {
    if (inputChecksum == null) {
      inputChecksum = validation.checksum(INPUT);
    }
    return inputChecksum;
  }
}
