/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

/**
 * What a {@link BufferPool} holds at one moment.
 *
 * @param registeredBytes in all slabs
 * @param leasedBuffers with a user, or posted, or both
 * @param zombieBuffers of the leased ones, those without a user that the device may still write to
 * @param exhaustions requests ever that got no buffer in time
 */
public record PoolUsage(
    long registeredBytes,
    long leasedBuffers,
    long leasedBytes,
    long zombieBuffers,
    long zombieBytes,
    long exhaustions) {}
