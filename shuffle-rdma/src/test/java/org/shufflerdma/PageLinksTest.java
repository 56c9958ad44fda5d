/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each link of the pages leads to a file of the checkout, and to a heading that is there. */
final class PageLinksTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Parser PARSER =
      Parser.builder().extensions(List.of(TablesExtension.create())).build();

  /** What a page links to, and the anchors of its headings as GitHub and bin/site name them. */
  private record Page(List<String> links, Set<String> anchors) {
    static Page of(Path file) throws IOException {
      Page page = new Page(new ArrayList<>(), new HashSet<>());
      IdGenerator ids = IdGenerator.builder().build();
      PARSER.parse(Files.readString(file)).accept(new AbstractVisitor() {
        @Override
        public void visit(Heading heading) {
          page.anchors.add(ids.generateId(text(heading)));
          visitChildren(heading);
        }

        @Override
        public void visit(Link link) {
          page.links.add(link.getDestination());
          visitChildren(link);
        }

        @Override
        public void visit(Image image) {
          page.links.add(image.getDestination());
        }
      });
      return page;
    }

    private static String text(Node parent) {
      StringBuilder text = new StringBuilder();
      parent.accept(new AbstractVisitor() {
        @Override
        public void visit(Text part) {
          text.append(part.getLiteral());
        }

        @Override
        public void visit(Code part) {
          text.append(part.getLiteral());
        }
      });
      return text.toString();
    }
  }

  @TempDir
  Path folder;

  @Test
  void noLinkOfThePagesIsDead() throws IOException {
    List<Path> pages = new ArrayList<>();
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
    }
    assertThat(pages).hasSizeGreaterThan(40);
    assertThat(deadLinks(pages)).isEmpty();
  }

  @Test
  void aMissingFileAndAMissingHeadingAreFound() throws IOException {
    Path page = folder.resolve("page.md");
    Files.writeString(page, """
        # One `two`: three

        [right](page.md#one-two-three) [right](#one-two-three) [elsewhere](https://example.org/x)

        | a table |
        |---|
        | [wrong](page.md#one) |

        [wrong](gone.md)
        """);
    assertThat(deadLinks(List.of(page)))
        .containsExactly("page.md: page.md#one", "page.md: gone.md");
  }

  private static List<String> deadLinks(List<Path> files) throws IOException {
    Map<Path, Page> pages = new HashMap<>();
    for (Path file : files) {
      pages.put(file, Page.of(file));
    }
    List<String> dead = new ArrayList<>();
    pages.forEach((file, page) -> {
      for (String link : page.links()) {
        URI uri = URI.create(link);
        if (uri.getScheme() == null && !leadsSomewhere(file, uri, pages)) {
          dead.add(file.getFileName() + ": " + link);
        }
      }
    });
    return dead;
  }

  private static boolean leadsSomewhere(Path from, URI link, Map<Path, Page> pages) {
    Path target =
        link.getPath().isEmpty() ? from : from.resolveSibling(link.getPath()).normalize();
    if (link.getFragment() == null) {
      return Files.exists(target);
    }
    @Nullable Page page = pages.get(target);
    return page != null && page.anchors().contains(link.getFragment());
  }
}
