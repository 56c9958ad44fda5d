/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The executors' side of the node service, which has map outputs of executors that have ended: how an
 * executor tells the service of its host where its outputs lie, and how a reader finds the service of
 * another host.
 */
@NullMarked
package org.shufflerdma.node;

import org.jspecify.annotations.NullMarked;
