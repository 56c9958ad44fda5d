/* SPDX-License-Identifier: Apache-2.0 */
/** What a map task spends in its writer, and what the publication of its output adds. */
@NullMarked
package org.shufflerdma.benchmarks.commit;

import org.jspecify.annotations.NullMarked;
