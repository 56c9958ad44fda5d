/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.Serializable;

/**
 * Something that keeps RDMA from serving, or from serving well.
 *
 * @param what is wrong, in a sentence without a full stop
 * @param mend the command, or the setting, that mends it
 */
public record Fault(String what, String mend) implements Serializable {}
