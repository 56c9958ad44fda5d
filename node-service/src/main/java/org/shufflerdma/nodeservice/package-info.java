/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A daemon for each host that has the map outputs of executors that have ended: it reads them into
 * registered memory for readers that ask. It sees neither Spark nor Hadoop.
 */
@NullMarked
package org.shufflerdma.nodeservice;

import org.jspecify.annotations.NullMarked;
