/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.ElementTrackingStore;
import scala.collection.Seq;

/**
 * What Spark for Scala 2.12 asks of an {@code AppHistoryServerPlugin}. For a method that returns an immutable sequence javac makes
 * one that returns this as well.
 */
interface AnyListeners {
  Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store);
}
