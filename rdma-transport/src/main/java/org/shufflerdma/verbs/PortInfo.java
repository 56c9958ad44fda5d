/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/** What {@code ibv_query_port} says, and the GIDs in use. Ports count from 1. */
public record PortInfo(
    int port,
    PortState state,
    int activeMtuBytes,
    long maxMsgBytes,
    LinkLayer linkLayer,
    List<Gid> gids) {}
