/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shufflerdma.DocsPage;

class RdmaSettingsTest {
  private static final String PREFIX = "app.rdma.";

  private static RdmaSettings from(Map<String, String> conf) {
    return RdmaSettings.from(conf, PREFIX);
  }

  @Test
  void defaultsAreWhatTheDocumentationSays() {
    RdmaSettings settings = from(Map.of());
    assertThat(settings.enabled()).isTrue();
    assertThat(settings.device()).isEqualTo("auto");
    assertThat(settings.checksum()).isEqualTo(ChecksumMode.AUTO);
    assertThat(settings.poolBytes()).isNull();
    assertThat(settings.connectTimeoutMs()).isEqualTo(5000);
  }

  @ParameterizedTest
  @CsvSource({
    "enabled,yes,boolean,true or false",
    "poolBytes,1m,size,'auto, or 16m to 1t'",
    "maxRegisteredBytes,0,size,'auto, or 1m to 64t'",
    "poolBytes,-5,size,16m to 1t",
    "poolBytes,9999999999999999t,size,16m to 1t",
    "poolBytes,64x,size,16m to 1t",
    "sendQueueDepth,12345678901,integer,16 to 16384",
    "sendQueueDepth,many,integer,16 to 16384",
    "connectTimeout,5h,duration,100ms to 600000ms",
    "typeOfService,256,integer,'auto, or 0 to 255'",
    "ackTimeout,0,duration,1ms to 600000ms",
    "ackTimeout,never,duration,auto",
    "retryCount,8,integer,0 to 7",
    "rnrRetryCount,-1,integer,0 to 7",
    "maxRdAtomic,0,integer,1 to 255",
    "mtu,1500,integer,'auto, or 256, 512, 1024, 2048, 4096'",
    "relaxedOrdering,auto,boolean,true or false",
    "checksum,crc,choice,'auto, own, off'",
    "device,../x,text,auto",
    "address,a-name-that-no-interface-has,CIDR,192.168.7.12",
    "address,10.0.0.300,interface,192.168.7.12",
    "address,10.0.0,interface,192.168.7.12",
    "address,10.0.0.0/33,interface,prefix",
    "address,fd00::/129,interface,prefix",
    "address,fd00:::1,interface,not an address",
    "address,fe80::1,interface,link-local",
    "address,fe80::1%eth0,interface,ib0",
    "nativeDir,tmp,path,absolute"
  })
  void badValueIsRefusedWithKeyValueTypeRangeDefaultAndRemedy(
      String name, String value, String type, String range) {
    assertThatThrownBy(() -> from(Map.of(PREFIX + name, value)))
        .isInstanceOf(InvalidSettingException.class)
        .hasMessageContainingAll(PREFIX + name + "=" + value, type, range, "default", "remove");
  }

  @ParameterizedTest
  @CsvSource({"64m,67108864", "1G,1073741824", "16777216,16777216", "2t,2199023255552"})
  void sizesTakeSparksUnits(String text, long bytes) {
    assertThat(from(Map.of(PREFIX + "maxRegisteredBytes", text)).maxRegisteredBytes())
        .isEqualTo(bytes);
  }

  @Test
  void connectionsHaveWhatIsSet() {
    RdmaSettings settings = from(Map.of(
        PREFIX + "typeOfService", "104",
        PREFIX + "ackTimeout", "1s",
        PREFIX + "retryCount", "5",
        PREFIX + "rnrRetryCount", "6",
        PREFIX + "maxRdAtomic", "4",
        PREFIX + "mtu", "1024"));
    assertThat(settings.connection())
        .isEqualTo(new ConnectionSettings(PREFIX, 104, 18, 5, 6, 4, 1024));
    assertThat(RdmaSettings.from(Map.of(), "").connection())
        .isEqualTo(new ConnectionSettings("", null, null, 7, 7, 16, 4096));
  }

  @ParameterizedTest
  @CsvSource({"1,8", "67ms,14", "68,15", "1s,18", "1074,19", "10min,28"})
  void anAckTimeoutIsRoundedUp(String text, int exponent) {
    RdmaSettings settings = from(Map.of(PREFIX + "ackTimeout", text));
    assertThat(settings.connection().ackTimeout()).isEqualTo(exponent);
  }

  @ParameterizedTest
  @CsvSource({
    "poolByte,poolBytes",
    "maxregisteredbytes,maxRegisteredBytes",
    "connectTimeoutMs,connectTimeout",
    "require,required"
  })
  void unknownKeyIsRefusedWithTheNearest(String name, String nearest) {
    assertThatThrownBy(() -> from(Map.of(PREFIX + name, "1g")))
        .isInstanceOf(InvalidSettingException.class)
        .hasMessageContainingAll(PREFIX + name + " is unknown", PREFIX + nearest + ":", "remove");
  }

  @Test
  void unknownKeysOfSharedDefaultsAreToldAndIgnoredUnlessRdmaIsRequired() {
    Map<String, String> conf = new HashMap<>(Map.of(PREFIX + "b", "1", PREFIX + "a.of.later", "2"));
    List<String> told = new ArrayList<>();
    assertThat(RdmaSettings.from(conf, PREFIX, told::add)).isEqualTo(from(Map.of()));
    assertThat(told).hasSize(2);
    assertThat(told.get(0)).startsWith(PREFIX + "a.of.later is unknown and has no effect");
    conf.put(PREFIX + "required", "true");
    assertThatThrownBy(() -> RdmaSettings.from(conf, PREFIX, told::add))
        .isInstanceOf(InvalidSettingException.class)
        .hasMessageContaining(PREFIX + "a.of.later");
    conf.put(PREFIX + "required", "no");
    assertThatThrownBy(() -> RdmaSettings.from(conf, PREFIX, told::add))
        .hasMessageContaining(PREFIX + "required=no");
  }

  @Test
  void keysWithoutThePrefixAreIgnored() {
    assertThat(from(Map.of("app.rdmaX", "x", "other.rdma.poolBytes", "x", "poolBytes", "x")))
        .isEqualTo(from(Map.of()));
    assertThat(from(Map.of()).key("poolBytes")).isEqualTo(PREFIX + "poolBytes");
  }

  @Test
  void thePageOfSettingsHasEachWithDefaultTypeRangeAndMeaning() throws Exception {
    SettingReader reader = new SettingReader(Map.of(), "spark.shuffle.rdma.");
    RdmaSettings.read(reader);
    List<List<String>> rows = DocsPage.named("configuration.md")
        .rows("| setting | default | type and unit | accepted | meaning |");
    assertThat(rows).allMatch(row -> row.size() == 5 && row.get(4).endsWith("."));
    assertThat(rows.stream().map(row -> row.subList(0, 4)))
        .containsExactlyElementsOf(reader.declared().stream()
            .map(setting -> List.of(
                "`" + reader.prefix() + setting.name() + "`",
                setting.defaultText().isEmpty() ? "(empty)" : "`" + setting.defaultText() + "`",
                setting.type().name(),
                setting.type().range()))
            .toList());
  }
}
