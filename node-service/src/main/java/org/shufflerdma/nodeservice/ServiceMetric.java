/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.util.Locale;

/** What the service publishes of itself. The names are public. */
enum ServiceMetric {
  APPLICATIONS("Applications that have registered and not ended."),
  APPLICATIONS_FAILED(
      "Applications whose readers cannot be served, because their device has failed. The service opens them anew."),
  THREADS_DEAD(
      "1 if a thread has died on which all applications depend, else 0. The process then exits with status 3."),
  EXECUTORS("Executors of those applications whose folders are there."),
  CONNECTIONS("RDMA connections of readers."),
  REGISTERED_BYTES("Memory registered for readers."),
  MAX_REGISTERED_BYTES("The most that may be registered for readers (service.maxRegisteredBytes)."),
  LOOKUPS_TOTAL("Readers that were told where their application is served."),
  LOOKUPS_REFUSED_TOTAL("Connections to the service's port that ended without an answer."),
  REQUESTS_TOTAL("Requests to stage blocks."),
  STAGED_BYTES_TOTAL("Bytes of blocks staged for readers."),
  RANGES_REFUSED_TOTAL("Blocks that could not be staged: they do not exist, or their disk failed."),
  READERS_REFUSED_TOTAL(
      "Control connections that ended because they did not keep to the protocol."),
  REQUESTS_WAITED_TOTAL("Requests for which there was no memory when they came."),
  LOANS_OVERDUE_TOTAL("Memory that readers did not return in time, so that it was taken back."),
  REDUCERS("Connections of reducers of MapReduce."),
  REDUCER_HELD_BYTES("What reducers hold of the memory that they map."),
  SHARED_MEMORY_UNUSABLE(
      "1 if reducers are not served, because the folder of that memory (service.sharedMemory) cannot be used, else 0."),
  REDUCER_OUTPUTS_TOTAL("Parts of map outputs that reducers of this host had by RDMA."),
  REDUCER_BYTES_TOTAL("Their bytes."),
  REDUCER_HTTP_TOTAL("Parts of map outputs that reducers were told to fetch by HTTP."),
  REDUCER_SHORTAGES_TOTAL(
      "Those of them for which this service had no memory in time, or whose reducer held its share.");

  private final String meaning;

  ServiceMetric(String meaning) {
    this.meaning = meaning;
  }

  String meaning() {
    return meaning;
  }

  String publicName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether it only ever grows. */
  boolean isTotal() {
    return name().endsWith("_TOTAL");
  }
}
