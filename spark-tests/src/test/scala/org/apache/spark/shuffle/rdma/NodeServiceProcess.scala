/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.IOException
import java.net.{ServerSocket, URI}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.{Files, Path, Paths}

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

/** The node service of this host, from its own jar. The test that starts it stops it. */
final class NodeServiceProcess {
  private val folder: Path =
    Files.createTempDirectory(Files.createDirectories(Paths.get(System.getProperty("work.directory"))), "node")

  /** Not in that folder, whose path may be longer than that of a socket can be. */
  private val socket = Files.createTempDirectory("node").resolve("node.sock")
  private val port = freePort()
  private val statusPort = freePort()
  private var process: Option[Process] = None

  /** Below the ports that the system gives to connections, one of which could take it before the service does. */
  @tailrec
  private def freePort(): Int = {
    val drawn = 10000 + Random.nextInt(10000)
    if (Try(new ServerSocket(drawn).close()).isSuccess) drawn else freePort()
  }

  def settings: Seq[(String, String)] = Seq(
    "spark.shuffle.rdma.nodeServicePort" -> port.toString,
    "spark.shuffle.rdma.nodeServiceSocket" -> socket.toString)

  def start(): Unit = {
    val conf = folder.resolve("node-service.conf")
    Files.write(
      conf,
      Seq(
        s"service.port=$port",
        s"service.statusPort=$statusPort",
        s"service.socket=$socket",
        s"service.grants=${folder.resolve("grants")}",
        "service.host=127.0.0.1",
        "service.maxRegisteredBytes=32m",
        "rdma.device=soft").asJava)
    val java = ProcessHandle.current().info().command().get()
    val started =
      new ProcessBuilder(java, "-Xmx128m", "-jar", System.getProperty("node.service.jar"), conf.toString)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile))
        .start()
    process = Some(started)
    awaitHealth(started, 60.seconds.fromNow)
  }

  @tailrec
  private def awaitHealth(started: Process, deadline: Deadline): Unit =
    if (!isWell) {
      assert(started.isAlive && deadline.hasTimeLeft(), s"the node service has not started: see $folder/log")
      Thread.sleep(50)
      awaitHealth(started, deadline)
    }

  private def isWell: Boolean =
    try {
      val request = HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:$statusPort/health")).build()
      HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body() == "ok\n"
    } catch {
      case _: IOException => false
    }

  def pid: Long = process.get.pid()

  def stop(): Unit = process.foreach { running =>
    running.destroy()
    running.waitFor(): Unit
    Files.deleteIfExists(socket): Unit
    Files.deleteIfExists(socket.getParent): Unit
  }
}
