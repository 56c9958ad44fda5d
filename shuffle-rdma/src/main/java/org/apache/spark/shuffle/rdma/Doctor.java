/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma;

import org.shufflerdma.doctor.ClusterDoctor;

/**
 * Examines a cluster: {@code spark-submit --class org.apache.spark.shuffle.rdma.Doctor shuffle-rdma.jar}. See docs/doctor.md.
 */
public final class Doctor {
  private Doctor() {}

  public static void main(String[] args) {
    System.exit(ClusterDoctor.run(args, System.out, System.err));
  }
}
