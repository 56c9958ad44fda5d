/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;

/**
 * Makes Spark's map statuses. {@code MapStatus.apply} has one more parameter since Spark 4.1, a checksum of the records.
 */
final class MapStatuses {
  private static final List<Class<?>> FIRST_PARAMETERS =
      List.of(BlockManagerId.class, long[].class, long.class);
  private static final Method APPLY = Arrays.stream(MapStatus$.class.getMethods())
      .filter(method -> method.getName().equals("apply"))
      .filter(method -> method.getParameterCount() >= FIRST_PARAMETERS.size())
      .filter(method -> FIRST_PARAMETERS.equals(
          Arrays.asList(method.getParameterTypes()).subList(0, FIRST_PARAMETERS.size())))
      .findFirst()
      .orElseThrow(() -> new NoSuchMethodError("MapStatus.apply"));

  private MapStatuses() {}

  /** Returns the status of a map output without a checksum of its records. */
  static MapStatus of(BlockManagerId location, long[] lengths, long mapId) {
    Object[] arguments = new Object[APPLY.getParameterCount()];
    Arrays.fill(arguments, 0L);
    arguments[0] = location;
    arguments[1] = lengths;
    arguments[2] = mapId;
    try {
      return (MapStatus) APPLY.invoke(MapStatus$.MODULE$, arguments);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("MapStatus.apply has failed", e);
    }
  }
}
