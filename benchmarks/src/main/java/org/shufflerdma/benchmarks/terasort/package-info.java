/**
 * TeraSort as a Spark job: Hadoop's own generator, formats and validators around one Spark shuffle.
 */
@NullMarked
package org.shufflerdma.benchmarks.terasort;

import org.jspecify.annotations.NullMarked;
