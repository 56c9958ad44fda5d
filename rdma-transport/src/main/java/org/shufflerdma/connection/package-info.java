/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reliable connections to the other executors: authenticated by a handshake in rdma_cm's private
 * data, proved by a canary READ, shared by all tasks, replaced when they break.
 */
@NullMarked
package org.shufflerdma.connection;

import org.jspecify.annotations.NullMarked;
