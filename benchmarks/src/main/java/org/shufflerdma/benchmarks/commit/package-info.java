/* SPDX-License-Identifier: Apache-2.0 */
/** What the publication of a map output adds to its task. */
@NullMarked
package org.shufflerdma.benchmarks.commit;

import org.jspecify.annotations.NullMarked;
