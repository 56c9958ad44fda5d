/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import org.apache.spark.Aggregator;
import org.apache.spark.Partitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.math.Ordering;

/**
 * Constructs Spark's sorter on every supported version: Spark 4.1 added a parameter (checksums of
 * rows, which reducers leave empty) to its constructor, so this one call goes through reflection.
 */
final class ExternalSorters {
  private static final int PARAMETERS_BEFORE_4_1 = 5;

  private ExternalSorters() {}

  @SuppressWarnings("unchecked")
  static <K, C> ExternalSorter<K, C, C> open(
      TaskContext context, Option<Ordering<K>> ordering, Serializer serializer) {
    Constructor<?> constructor = ExternalSorter.class.getConstructors()[0];
    Option<Aggregator<K, C, C>> noAggregator = Option.empty();
    Option<Partitioner> noPartitioner = Option.empty();
    try {
      if (constructor.getParameterCount() == PARAMETERS_BEFORE_4_1) {
        return (ExternalSorter<K, C, C>)
            constructor.newInstance(context, noAggregator, noPartitioner, ordering, serializer);
      }
      Class<?> checksums = constructor.getParameterTypes()[PARAMETERS_BEFORE_4_1];
      return (ExternalSorter<K, C, C>) constructor.newInstance(
          context,
          noAggregator,
          noPartitioner,
          ordering,
          serializer,
          Array.newInstance(checksums.getComponentType(), 0));
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("Spark's sorter could not be constructed", e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Spark has another sorter", e);
    }
  }
}
