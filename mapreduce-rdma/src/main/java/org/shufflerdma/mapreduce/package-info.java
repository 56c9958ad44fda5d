/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hadoop MapReduce over RDMA: reducers ask the node service of their own host, which READs map outputs from the services of
 * other hosts into memory that reducers can read. Nothing here needs native code or more than Java 8. What must see Hadoop's own
 * classes is in {@code org.apache.hadoop.mapreduce.task.reduce}.
 */
package org.shufflerdma.mapreduce;
