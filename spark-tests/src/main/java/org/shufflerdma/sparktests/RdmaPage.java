/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The page of the RDMA tab, as an application's UI or the history server shows it. */
public final class RdmaPage {
  private static final int DEADLINE_S = 60;
  private static final Pattern PAGES = Pattern.compile("Page \\d+ of (\\d+)");

  /** A row of the table: its stage, its tasks, its remote bytes, and those of each way. */
  private static final Pattern ROW =
      Pattern.compile("<tr><td sorttable_customkey=\"\\d+\"><a href=\"\\.\\./stages/stage/"
          + "(?:(?!</tr>).)*?" + number() + number() + "<td><svg(?:(?!</tr>).)*?</svg></td>"
          + number() + number() + number() + number());

  /** Everything from here on is about executors. */
  private static final String EXECUTORS = "id=\"rdma-executors\"";

  /** A row of that table: its executor, its device, its budget, and its remote bytes. */
  private static final Pattern EXECUTOR =
      Pattern.compile("<tr><td>([^<]*)</td><td>[^<]*</td><td>([^<]*)</td>" + number()
          + "<td sorttable_customkey=\"\\d+\">(?:(?!</td>).)*</td>" + number() + number() + number()
          + number());

  private RdmaPage() {}

  private static String number() {
    return "<td sorttable_customkey=\"(\\d+)\">[^<]*</td>";
  }

  /**
   * Waits for an application's UI at a URL, and ends with status 1 unless its RDMA page has as many remote bytes as
   * given, those of stages and those of executors with their devices. The history server takes a while to find an application.
   */
  public static void main(String[] arguments) throws Exception {
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);
    while (true) {
      try {
        long bytes = remoteBytes(arguments[0]);
        long ofExecutors = remoteBytesOfExecutors(arguments[0]);
        System.out.println(bytes + " remote bytes of stages on the RDMA page, and " + ofExecutors
            + " of executors");
        long expected = Long.parseLong(arguments[1]);
        System.exit(bytes == expected && ofExecutors == expected ? 0 : 1);
      } catch (IOException e) {
        if (System.nanoTime() - deadlineNs > 0) {
          System.out.println("no RDMA page: " + e.getMessage());
          System.exit(1);
        }
        TimeUnit.MILLISECONDS.sleep(200);
      }
    }
  }

  /**
   * Returns the sum of the remote bytes of all stages.
   *
   * @param ui the address of the application's UI
   * @throws IOException if there is no such page, or a row whose bytes are not the sum of its ways
   */
  public static long remoteBytes(String ui) throws IOException, InterruptedException {
    long sum = 0;
    int pages = 1;
    for (int page = 1; page <= pages; page++) {
      String text = get(ui + "/rdma/?page=" + page);
      if (!text.startsWith("<!DOCTYPE html><html")) {
        throw new IOException(
            "this is no page: " + text.substring(0, Math.min(200, text.length())));
      }
      text = text.split(EXECUTORS, 2)[0];
      Matcher counted = PAGES.matcher(text);
      pages = counted.find() ? Integer.parseInt(counted.group(1)) : 1;
      Matcher row = ROW.matcher(text);
      while (row.find()) {
        long remote = Long.parseLong(row.group(2));
        long ways = 0;
        for (int way = 3; way <= row.groupCount(); way++) {
          ways += Long.parseLong(row.group(way));
        }
        if (ways != remote) {
          throw new IOException("the ways do not add up: " + row.group());
        }
        sum += remote;
      }
    }
    return sum;
  }

  /**
   * Returns the sum of the remote bytes of executors, of which there are at most as many as on one page.
   *
   * @throws IOException if there is no such page, or no device or no budget of an executor
   */
  public static long remoteBytesOfExecutors(String ui) throws IOException, InterruptedException {
    String text = get(ui + "/rdma/");
    if (!text.contains(EXECUTORS)) {
      throw new IOException("there are no executors on the page");
    }
    long sum = 0;
    Matcher row = EXECUTOR.matcher(text.split(EXECUTORS, 2)[1]);
    while (row.find()) {
      if (row.group(2).isEmpty() || Long.parseLong(row.group(5)) == 0) {
        throw new IOException("executor " + row.group(1) + " has no device or no budget");
      }
      sum += Long.parseLong(row.group(7));
    }
    return sum;
  }

  /** Returns the text of a page. */
  public static String get(String url) throws IOException, InterruptedException {
    // The history server loads an application first, and then redirects to the same page.
    HttpResponse<String> response = HttpClient.newBuilder()
        .followRedirects(HttpClient.Redirect.NORMAL)
        .build()
        .send(
            HttpRequest.newBuilder(URI.create(url))
                .timeout(Duration.ofSeconds(DEADLINE_S))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(url + ": " + response.statusCode() + " " + response.body());
    }
    return response.body();
  }
}
