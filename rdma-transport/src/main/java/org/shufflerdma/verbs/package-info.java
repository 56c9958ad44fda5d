/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The verbs as Java sees them: devices, protection domains, memory regions, completion queues, queue
 * pairs and rdma_cm connections, over the system's rdma-core or the bundled software device. Only
 * this package sees DiSNI and native code.
 *
 * <p>Whatever acquires is {@link java.lang.AutoCloseable}; closing twice is harmless; closing what
 * the device still uses throws {@link org.shufflerdma.verbs.VerbsException} (EBUSY) and may be
 * repeated. Objects are thread safe as far as verbs are, but nobody may use an object while or after
 * it is closed: the owner stops its threads first.
 */
@NullMarked
package org.shufflerdma.verbs;

import org.jspecify.annotations.NullMarked;
