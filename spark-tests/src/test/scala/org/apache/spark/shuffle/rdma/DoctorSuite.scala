/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

private final case class DoctorOutcome(status: Int, said: String, json: Path) {
  def report: JsonNode = new ObjectMapper().readTree(json.toFile)
}

/** The cluster doctor's own main class, in a JVM of its own, on a local-cluster whose executors stand for hosts. */
final class DoctorSuite extends AnyFunSuite {
  private val PatienceS = 180L
  private val OptionsOfJvm = Seq("java.base/java.lang", "java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.util")
    .map(opened => s"--add-opens=$opened=ALL-UNNAMED")

  test("executors read from each other by RDMA and by TCP, and nothing is wrong") {
    val outcome = doctor(Seq("--per", "executor"))
    assert(outcome.status == 0, outcome.said)
    assert(outcome.said.contains("RDMA serves on 2 of 2 ways"), outcome.said)
    val report = outcome.report
    assert(report.get("good").asBoolean)
    assert(report.get("hosts").size == 2)
    assert(report.get("ways").size == 2)
    report.get("ways").forEach { way =>
      for (kind <- Seq("read_4k", "read_1m", "tcp_4k", "tcp_1m")) {
        assert(way.get(kind).get("mb_per_s").asDouble > 0, outcome.said)
      }
    }
    report.get("hosts").forEach { host =>
      assert(host.get("facts").get("kernel").asText == System.getProperty("os.version"))
      assert(Math.abs(host.get("clock_ahead_ms").asDouble) < 1000, "one host has one clock")
    }
  }

  test("READs that the device refuses, an unseen host and too little bandwidth are faults") {
    val outcome = doctor(
      Seq("--per", "executor", "--hosts", "no-such-host", "--wait", "20", "--least-mb-per-s", "1000000"),
      "spark.executorEnv.SOFTVERBS_FAULT" -> "wr:status=REM_ACCESS_ERR,min_length=1000000,remote,nth=30,every=1")
    assert(outcome.status == 1, outcome.said)
    assert(outcome.said.contains("no-such-host: no executor of this host came within 20 s"), outcome.said)
    assert(outcome.said.contains("REM_ACCESS_ERR"), outcome.said)
    assert(outcome.report.get("faults").size >= 3, outcome.said)
    outcome.report.get("faults").forEach(fault => assert(!fault.get("mend").asText.isEmpty))
  }

  test("a device that is not there is a fault of each host, with the setting that mends it") {
    val outcome = doctor(Nil, "spark.shuffle.rdma.device" -> "mlx5_9")
    assert(outcome.status == 1, outcome.said)
    assert(outcome.said.contains("device mlx5_9 is not present"), outcome.said)
    assert(outcome.said.contains("--conf spark.shuffle.rdma.device=auto"), outcome.said)
  }

  test("wrong options and settings are refused without a cluster") {
    val option = doctor(Seq("--per", "rack"))
    assert(option.status == 2 && option.said.contains("--per rack: give host or executor"), option.said)
    val setting = doctor(Nil, "spark.shuffle.rdma.mtu" -> "1500")
    assert(setting.status == 2 && setting.said.contains("spark.shuffle.rdma.mtu=1500"), setting.said)
    val master = doctor(Nil, "spark.master" -> "local[2]")
    assert(master.status == 2 && master.said.contains("spark.master=local[2]"), master.said)
  }

  private def doctor(options: Seq[String], settings: (String, String)*): DoctorOutcome = {
    SparkHome.prepare()
    val work = Files.createDirectories(Paths.get(System.getProperty("work.directory")))
    val json = Files.createTempFile(work, "doctor of a cluster", ".json")
    val said = Files.createTempFile(work, "doctor", ".txt")
    val conf = Map(
      "spark.master" -> "local-cluster[2,1,1024]",
      "spark.jars" -> System.getProperty("plugin.jar"),
      "spark.shuffle.rdma.device" -> "soft",
      "spark.ui.enabled" -> "false",
      "spark.executor.defaultJavaOptions" -> "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC") ++ settings
    val command = Seq(
      ProcessHandle.current().info().command().get(),
      "-Xmx512m",
      "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC") ++
      OptionsOfJvm ++
      conf.map { case (key, value) => s"-D$key=$value" } ++
      Seq("-cp", System.getProperty("java.class.path"), classOf[Doctor].getName) ++
      options ++ Seq("--json", json.toString)
    val process = new ProcessBuilder(command: _*)
      .redirectErrorStream(true)
      .redirectOutput(said.toFile)
      .start()
    try {
      assert(process.waitFor(PatienceS, TimeUnit.SECONDS), s"the doctor did not end: ${Files.readString(said)}")
      DoctorOutcome(process.exitValue(), Files.readString(said), json)
    } finally process.destroyForcibly(): Unit
  }
}
