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

  /**
   * Returns the status of a map output.
   *
   * @param recordChecksum of all records, or 0 if there is none; older Sparks have none
   */
  static MapStatus of(BlockManagerId location, long[] lengths, long mapId, long recordChecksum) {
    Object[] arguments = APPLY.getParameterCount() == PARAMETERS.length
        ? new Object[] {location, lengths, mapId}
        : new Object[] {location, lengths, mapId, recordChecksum};
    try {
      return (MapStatus) APPLY.invoke(MapStatus$.MODULE$, arguments);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("MapStatus.apply has failed", e);
    }
  }
}
