/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/**
 * The attributes of a port, as {@code ibv_query_port} reports them, and its GIDs in use. Ports
 * count from 1.
 */
public record PortInfo(
    int port,
    PortState state,
    int activeMtuBytes,
    long maxMsgBytes,
    LinkLayer linkLayer,
    List<Gid> gids) {}
