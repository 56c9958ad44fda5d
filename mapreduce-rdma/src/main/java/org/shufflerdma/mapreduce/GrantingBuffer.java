/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.IOException;
import org.apache.hadoop.mapred.MapOutputCollector;
import org.apache.hadoop.mapred.MapTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hadoop's own collector of map outputs, which also leaves the job's grant for the node service of this host. A map task that
 * cannot leave it goes on, and its output travels over HTTP.
 */
public final class GrantingBuffer<K, V> extends MapTask.MapOutputBuffer<K, V> {
  private static final Logger LOG = LoggerFactory.getLogger(GrantingBuffer.class);

  @Override
  public void init(MapOutputCollector.Context context) throws IOException, ClassNotFoundException {
    super.init(context);
    try {
      JobGrant grant = JobGrant.of(context.getJobConf(), context.getMapTask().getShuffleSecret());
      if (grant != null) {
        grant.leave();
      }
    } catch (IOException | RuntimeException e) {
      LOG.warn(
          "The node service of this host cannot serve the output of this map: {}", e.toString());
    }
  }
}
