/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;

/**
 * Makes Spark's map statuses. {@code MapStatus.apply} has one more parameter since Spark 4.1, a checksum of the
 * records. The class cannot be initialized where it has other parameters.
 */
public final class MapStatuses {
  private static final Class<?>[] PARAMETERS = {BlockManagerId.class, long[].class, long.class};
  private static final Class<?>[] AND_CHECKSUM = {
    BlockManagerId.class, long[].class, long.class, long.class
  };
  private static final Method APPLY = Arrays.stream(MapStatus$.class.getMethods())
      .filter(method -> method.getName().equals("apply"))
      .filter(method -> Arrays.equals(method.getParameterTypes(), PARAMETERS)
          || Arrays.equals(method.getParameterTypes(), AND_CHECKSUM))
      .findFirst()
      .orElseThrow(() -> new NoSuchMethodError(
          "org.apache.spark.scheduler.MapStatus.apply with known parameters"));

  private MapStatuses() {}

  /** Returns the status of a map output without a checksum of its records. */
  static MapStatus of(BlockManagerId location, long[] lengths, long mapId) {
    Object[] arguments = APPLY.getParameterCount() == PARAMETERS.length
        ? new Object[] {location, lengths, mapId}
        : new Object[] {location, lengths, mapId, 0L};
    try {
      return (MapStatus) APPLY.invoke(MapStatus$.MODULE$, arguments);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("MapStatus.apply has failed", e);
    }
  }
}
