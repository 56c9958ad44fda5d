/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.read;

/**
 * The limits of a {@link ReadList}.
 *
 * @param maxReads the most READs in one chain
 * @param maxReadBytes the most bytes of one READ
 * @param sharedBufferBytes the most bytes of a buffer that several ranges share; the last reader
 *     would hold a larger one for too long
 */
public record ReadLimits(int maxReads, int maxReadBytes, int sharedBufferBytes) {}
