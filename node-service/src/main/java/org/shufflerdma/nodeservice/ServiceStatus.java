/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.shufflerdma.staging.StagingStats;

/**
 * The values of the service's metrics. Totals contain what applications that have ended had staged. Any thread
 * may call.
 *
 * @param dead whether a thread has died on which all applications depend
 */
record ServiceStatus(
    Applications applications,
    NodeDevice device,
    LookupServer lookups,
    ReducerServer reducers,
    BooleanSupplier dead) {
  Map<ServiceMetric, Long> values() {
    Map<ServiceMetric, Long> values = new EnumMap<>(ServiceMetric.class);
    long executors = 0;
    long connections = 0;
    long failed = 0;
    for (Application application : applications.all()) {
      executors += application.grant().executors().size();
      connections += application.connections();
      failed += application.hasFailed() ? 1 : 0;
    }
    values.put(ServiceMetric.APPLICATIONS, (long) applications.all().size());
    values.put(ServiceMetric.APPLICATIONS_FAILED, failed);
    values.put(ServiceMetric.THREADS_DEAD, dead.getAsBoolean() ? 1L : 0L);
    values.put(ServiceMetric.EXECUTORS, executors);
    values.put(ServiceMetric.CONNECTIONS, connections);
    values.put(ServiceMetric.REGISTERED_BYTES, device.budget().takenBytes());
    values.put(ServiceMetric.MAX_REGISTERED_BYTES, device.budget().maxBytes());
    values.put(ServiceMetric.LOOKUPS_TOTAL, lookups.answered());
    values.put(ServiceMetric.LOOKUPS_REFUSED_TOTAL, lookups.refused());
    StagingStats stats = device.stats();
    values.put(ServiceMetric.REQUESTS_TOTAL, stats.requests.sum());
    values.put(ServiceMetric.STAGED_BYTES_TOTAL, stats.bytesStaged.sum());
    values.put(ServiceMetric.RANGES_REFUSED_TOTAL, stats.rangesRefused.sum());
    values.put(ServiceMetric.READERS_REFUSED_TOTAL, stats.readersRefused.sum());
    values.put(ServiceMetric.REQUESTS_WAITED_TOTAL, stats.requestsWaited.sum());
    values.put(ServiceMetric.LOANS_OVERDUE_TOTAL, stats.loansOverdue.sum());
    values.put(ServiceMetric.REDUCERS, (long) reducers.connections());
    values.put(ServiceMetric.REDUCER_HELD_BYTES, reducers.heldBytes());
    values.put(ServiceMetric.SHARED_MEMORY_UNUSABLE, device.lacksSharedMemory() ? 1L : 0L);
    values.put(ServiceMetric.REDUCER_OUTPUTS_TOTAL, reducers.outputs());
    values.put(ServiceMetric.REDUCER_BYTES_TOTAL, reducers.bytes());
    values.put(ServiceMetric.REDUCER_HTTP_TOTAL, reducers.refusals());
    values.put(ServiceMetric.REDUCER_SHORTAGES_TOTAL, reducers.shortages());
    return values;
  }
}
