/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The tables of a page in docs, for tests that compare the page with the code. */
public final class DocsPage {
  private final List<String> lines;

  private DocsPage(List<String> lines) {
    this.lines = lines;
  }

  public static DocsPage named(String file) throws IOException {
    return new DocsPage(Files.readAllLines(Path.of("..", "docs", file)));
  }

  /** Returns the cells of every row below {@code header}; fails if the page has no such table. */
  public List<List<String>> rows(String header) {
    int start = lines.indexOf(header);
    if (start < 0) {
      throw new IllegalArgumentException("no table has the header " + header);
    }
    return lines.subList(start + 2, lines.size()).stream()
        .takeWhile(line -> line.startsWith("|"))
        .map(line ->
            Arrays.stream(line.substring(1).split("\\|")).map(String::trim).toList())
        .toList();
  }
}
