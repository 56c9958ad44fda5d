/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataInputStream;
import java.io.InputStream;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.task.reduce.RdmaReduceShuffle;
import org.junit.jupiter.api.Test;

class RdmaShuffleTest {
  private final JobConf conf = new JobConf(false);

  @Test
  void whatIsToBeEncryptedOnTheWayIsNotReadInPlainText() {
    assertThat(RdmaShuffle.obstacle(conf, false)).isNull();
    conf.setBoolean("mapreduce.shuffle.ssl.enabled", true);
    assertThat(RdmaShuffle.obstacle(conf, false)).contains("mapreduce.shuffle.ssl.enabled");
    conf.setBoolean("mapreduce.job.encrypted-intermediate-data", true);
    assertThat(RdmaShuffle.obstacle(conf, false)).isNull();
  }

  @Test
  void mapsOfTheSameProcessNeedNoService() {
    assertThat(RdmaShuffle.obstacle(conf, true)).isNotNull();
  }

  @Test
  void aPortThatIsNoneIsNamedWithItsKeyAndWhatToGive() {
    assertThat(RdmaShuffle.portOf(conf)).isEqualTo(7347);
    conf.set(RdmaShuffle.PORT_KEY, "70000");
    assertThatThrownBy(() -> RdmaShuffle.portOf(conf))
        .hasMessageContaining("mapreduce.shuffle.rdma.service.port=70000: give");
  }

  /** Containers may run on Java 8, whose class files have version 52 (JVMS 4.1). */
  @Test
  void theClassesAreThoseOfJava8() throws Exception {
    for (Class<?> each : new Class<?>[] {RdmaShuffle.class, RdmaReduceShuffle.class}) {
      try (InputStream in = each.getResourceAsStream(each.getSimpleName() + ".class")) {
        DataInputStream head = new DataInputStream(in);
        assertThat(head.readInt()).isEqualTo(0xCAFEBABE);
        assertThat(head.readUnsignedShort()).isZero();
        assertThat(head.readUnsignedShort()).isEqualTo(52);
      }
    }
  }
}
