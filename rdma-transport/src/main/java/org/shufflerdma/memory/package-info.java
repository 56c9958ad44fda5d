/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Registered memory: the pool of buffers that READs write to, and the arena of records that peers
 * read. Least access is kept here: sinks are LOCAL_WRITE only, records REMOTE_READ only.
 */
@NullMarked
package org.shufflerdma.memory;

import org.jspecify.annotations.NullMarked;
