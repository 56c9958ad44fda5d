/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;

/**
 * What a task reads of a shuffle, as the shuffle manager's {@code getReader} is told: partitions and
 * map outputs from start to before end.
 */
public record ReadRange<K, C>(
    BaseShuffleHandle<K, ?, C> handle,
    int startMapIndex,
    int endMapIndex,
    int startPartition,
    int endPartition,
    TaskContext context) {}
