/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.inner;

import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import scala.Option;

/** What the location of a map output costs in its status, beside the status itself. */
@State(Scope.Thread)
public class MapStatusLoops {
  private static final MapOutputTrailer TRAILER =
      new MapOutputTrailer(MapOutputTrailer.hashExecutorId("1"), 2, 3, 4);

  @Param({"8", "400"})
  public int partitions;

  private final BlockManagerId owner = BlockManagerId.apply("1", "localhost", 7337, Option.empty());
  private long[] lengths = {};
  private MapStatus carrying = MapStatus.apply(owner, new long[1], 0, 0);

  @Setup
  public void setUp() throws ReflectiveOperationException {
    lengths = new long[partitions];
    Arrays.fill(lengths, 1_024);
    carrying = newStatusWithLocation();
  }

  @Benchmark
  public MapStatus newStatus() {
    return MapStatus.apply(owner, lengths, 0, 0);
  }

  @Benchmark
  public MapStatus newStatusWithLocation() throws ReflectiveOperationException {
    MapStatus status = newStatus();
    if (!MapStatusCarrier.write(status, partitions, TRAILER)) {
      throw new IllegalStateException("the status does not take a location");
    }
    return status;
  }

  @Benchmark
  public Optional<MapOutputTrailer> readLocation() {
    return MapStatusCarrier.read(carrying, partitions);
  }
}
