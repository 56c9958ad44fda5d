/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * The endpoint at which an executor accepts RDMA connections, as published in the topology text of the {@link
 * BlockManagerId} of its map statuses. A cluster's own topology text stays in front. Every process of
 * the application can read it, so it contains no secret.
 *
 * <pre>
 *   [own topology;]shuffle-rdma=1,HOST,PORT,NONCE
 * </pre>
 *
 * @param nonceHex 32 lower-case hex digits that no other process of the host ever has
 */
public record PublishedEndpoint(String host, int port, String nonceHex) {
  private static final String TAG = "shuffle-rdma=1,";
  private static final Pattern FORM =
      Pattern.compile("(?:.*;)?" + TAG + "([0-9A-Za-z.:%_-]+),([0-9]{1,5}),([0-9a-f]{32})");

  public PublishedEndpoint {
    if (!FORM.matcher(text(host, port, nonceHex)).matches() || port < 1 || port > 0xFFFF) {
      throw new IllegalArgumentException(
          "this is not an endpoint: " + host + " " + port + " " + nonceHex);
    }
  }

  /** Returns the endpoint that {@code id} names; empty if there is none, or one of another version. */
  public static Optional<PublishedEndpoint> of(BlockManagerId id) {
    Option<String> topology = id.topologyInfo();
    return topology.isEmpty() ? Optional.empty() : ofText(topology.get());
  }

  /** Returns the endpoint at the end of {@code text}; empty if there is none, or one of another version. */
  public static Optional<PublishedEndpoint> ofText(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    int port = Integer.parseInt(matcher.group(2));
    if (port < 1 || port > 0xFFFF) {
      return Optional.empty();
    }
    return Optional.of(new PublishedEndpoint(matcher.group(1), port, matcher.group(3)));
  }

  /** Returns {@code id} with this endpoint appended to its topology, as one cached instance. */
  public BlockManagerId addTo(BlockManagerId id) {
    @Nullable String own = id.topologyInfo().isDefined() ? id.topologyInfo().get() : null;
    String tag = toText();
    String topology = own == null || own.isEmpty() ? tag : own + ";" + tag;
    return BlockManagerId.apply(id.executorId(), id.host(), id.port(), Option.apply(topology));
  }

  /** The endpoint as it is published. */
  public String toText() {
    return text(host, port, nonceHex);
  }

  private static String text(String host, int port, String nonceHex) {
    return TAG + host + "," + port + "," + nonceHex;
  }
}
