/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.File;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a job shuffles so little that opening the device for it costs the node services more than they save. The map outputs
 * on this host tell how large the others are. Any thread may call.
 */
public final class JobSize {
  /** Bytes of all map outputs of a job; below that, the outputs of other hosts come by HTTP. */
  public static final String LEAST_KEY = "mapreduce.shuffle.rdma.min.bytes";

  public static final long DEFAULT_LEAST_BYTES = 256L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(JobSize.class);

  private final String[] localDirs;
  private final int maps;
  private final long leastBytes;

  // Guarded by this.
  private final Map<String, Long> lengths = new HashMap<>(); // of outputs that are whole
  private boolean isLarge; // which stays so, because the device is open for it by then
  private boolean isLogged;

  /** @param conf of a task of the job */
  public JobSize(Configuration conf) {
    localDirs = conf.getTrimmedStrings(MRConfig.LOCAL_DIR);
    maps = conf.getInt(MRJobConfig.NUM_MAPS, 1);
    leastBytes = leastBytes(conf);
  }

  static long leastBytes(Configuration conf) {
    long bytes;
    try {
      bytes = conf.getLongBytes(LEAST_KEY, DEFAULT_LEAST_BYTES);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) { // the latter if it is empty
      bytes = -1;
    }
    if (bytes < 0) {
      throw new IllegalArgumentException(LEAST_KEY + "=" + conf.get(LEAST_KEY)
          + ": give a number of bytes, such as 256m, or 0 to have RDMA in every job");
    }
    return bytes;
  }

  /**
   * Whether the job is small, by what is known now: the maps that end first may be those with the least output, so a job that is small
   * may not stay so. As long as no map of this host has ended, it is not.
   */
  public synchronized boolean isSmall() {
    if (isLarge) {
      return false;
    }
    double bytes = estimatedBytes();
    if (bytes < leastBytes) {
      if (!isLogged) {
        LOG.info(
            "Map outputs of other hosts travel over HTTP: the job shuffles about {} bytes, less than {}={}",
            Math.round(bytes),
            LEAST_KEY,
            leastBytes);
        isLogged = true;
      }
      return true;
    }
    isLarge = bytes >= leastBytes; // which it is not if nothing is known
    return false;
  }

  /** Guarded by this. By the mean of the outputs on this host; NaN if there is none. */
  private double estimatedBytes() {
    Map<String, Long> more = new HashMap<>();
    Set<String> complete = new HashSet<>();
    for (String dir : localDirs) {
      File outputs = new File(dir, "output");
      String[] names = outputs.list();
      for (String name : names == null ? new String[0] : names) {
        if (!lengths.containsKey(name)) { // a host can have thousands, and each fetch asks
          File bytes = new File(outputs, name + "/file.out");
          if (bytes.exists()) {
            more.put(name, bytes.length());
          }
          if (new File(outputs, name + "/file.out.index")
              .exists()) { // Hadoop makes it last, on any disk
            complete.add(name);
          }
        }
      }
    }
    more.keySet().retainAll(complete);
    lengths.putAll(more);
    return maps * lengths.values().stream().mapToLong(Long::longValue).average().orElse(Double.NaN);
  }
}
