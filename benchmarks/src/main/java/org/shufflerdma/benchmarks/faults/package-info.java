/**
 * The fault campaign: real jobs on a real cluster while the software device, the processes and the
 * jobs themselves are made to fail, everything drawn from a seed.
 */
@NullMarked
package org.shufflerdma.benchmarks.faults;

import org.jspecify.annotations.NullMarked;
