/**
 * The fault campaign: jobs on a cluster of executor processes while the software device, the
 * processes or the jobs themselves are made to fail. A seed determines everything.
 */
@NullMarked
package org.shufflerdma.benchmarks.faults;

import org.jspecify.annotations.NullMarked;
