/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

/** A job that is ready to run. */
interface Job {
  /** Runs it, which is what is measured. Returns a number that depends on its result alone. */
  long run() throws Exception;

  /**
   * Checks the result where that is no part of the job.
   *
   * @param result what {@link #run} returned
   * @return a number that depends on the result alone
   */
  default long digest(long result) throws Exception {
    return result;
  }
}
