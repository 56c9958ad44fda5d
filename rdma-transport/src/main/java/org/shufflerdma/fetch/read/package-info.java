/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lists of READs: what one may hold, where their bytes come from, and what is counted. Nothing in here waits.
 */
@NullMarked
package org.shufflerdma.fetch.read;

import org.jspecify.annotations.NullMarked;
