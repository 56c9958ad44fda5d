/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RdmaSettingsTest {
  @Test
  void defaultsAreWhatTheDocumentationSays() {
    RdmaSettings settings = RdmaSettings.from(Map.of());
    assertThat(settings.enabled()).isTrue();
    assertThat(settings.device()).isEqualTo("auto");
    assertThat(settings.checksum()).isEqualTo(ChecksumMode.AUTO);
    assertThat(settings.poolBytes()).isEqualTo(1L << 30);
    assertThat(settings.connectTimeoutMs()).isEqualTo(5000);
  }

  @ParameterizedTest
  @CsvSource({
    "enabled,yes,boolean,true or false",
    "poolBytes,1m,size,16m to 1t",
    "poolBytes,-5,size,16m to 1t",
    "poolBytes,9999999999999999t,size,16m to 1t",
    "poolBytes,64x,size,16m to 1t",
    "sendQueueDepth,12345678901,integer,16 to 16384",
    "sendQueueDepth,many,integer,16 to 16384",
    "connectTimeout,5h,duration,100ms to 600000ms",
    "checksum,crc,choice,'auto, own, off'",
    "device,../x,text,auto",
    "address,localhost,CIDR,192.168.7.12",
    "nativeDir,tmp,path,absolute"
  })
  void badValueIsRefusedWithKeyValueTypeRangeDefaultAndRemedy(
      String name, String value, String type, String range) {
    assertThatThrownBy(() -> RdmaSettings.from(Map.of("spark.shuffle.rdma." + name, value)))
        .isInstanceOf(InvalidSettingException.class)
        .hasMessageContainingAll(
            "spark.shuffle.rdma." + name + "=" + value, type, range, "default", "remove");
  }

  @ParameterizedTest
  @CsvSource({"64m,67108864", "1G,1073741824", "16777216,16777216", "2t,2199023255552"})
  void sizesTakeSparksUnits(String text, long bytes) {
    assertThat(RdmaSettings.from(Map.of("spark.shuffle.rdma.maxRegisteredBytes", text))
            .maxRegisteredBytes())
        .isEqualTo(bytes);
  }

  @Test
  void unknownKeyIsRefusedWithTheNearestName() {
    assertThatThrownBy(() -> RdmaSettings.from(Map.of("spark.shuffle.rdma.poolByte", "1g")))
        .hasMessageContaining("did you mean spark.shuffle.rdma.poolBytes?");
  }

  @Test
  void settingOfSparkRdmaIsAcceptedWithANote() {
    Map<String, String> conf = Map.of("spark.shuffle.rdma.device.num", "0", "spark.app.name", "x");
    assertThat(RdmaSettings.from(conf)).isEqualTo(RdmaSettings.from(Map.of()));
    assertThat(RdmaSettings.migrationNotes(conf))
        .singleElement()
        .asString()
        .contains("spark.shuffle.rdma.device.num", "`spark.shuffle.rdma.device`");
  }

  @Test
  void documentationIsUpToDate() throws Exception {
    Path file = Path.of("..", "docs", "configuration.md");
    if (System.getenv("UPDATE") != null) {
      Files.writeString(file, RdmaSettings.documentation());
    }
    assertThat(file).hasContent(RdmaSettings.documentation());
  }
}
