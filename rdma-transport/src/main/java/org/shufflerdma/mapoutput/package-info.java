/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Committed map-output files as registered memory: mapped, registered for remote reads, described,
 * withdrawn and given back. Knows files and verbs, but not Spark.
 */
@NullMarked
package org.shufflerdma.mapoutput;

import org.jspecify.annotations.NullMarked;
