/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import org.shufflerdma.connection.PeerId;
import org.shufflerdma.fetch.descriptor.DescriptorRef;

/** Where one map output can be read by RDMA: at which peer, and where in its memory. */
public record MapOutputLocation(PeerId peer, DescriptorRef descriptor) {}
