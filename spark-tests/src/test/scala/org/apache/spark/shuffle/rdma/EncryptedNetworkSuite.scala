/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Paths}

import scala.sys.process._

import org.scalatest.funsuite.AnyFunSuite

/** What Spark encrypts on the network RDMA does not carry in the clear, unless the user says so. */
final class EncryptedNetworkSuite extends AnyFunSuite {
  import EncryptedNetworkSuite._

  private val crypto = Seq(
    "spark.authenticate" -> "true",
    "spark.authenticate.secret" -> "the secret of this suite",
    "spark.network.crypto.enabled" -> "true")

  test("network encryption without I/O encryption leaves all blocks to TCP, and the driver says what to do") {
    assertRefused("spark.network.crypto.enabled", crypto)
  }

  test("TLS of Spark's RPC without I/O encryption leaves all blocks to TCP, and the driver says what to do") {
    assume(org.apache.spark.SPARK_VERSION >= "4", "Spark 3.5 has no TLS for its RPC")
    assertRefused("spark.ssl.rpc.enabled", tls())
  }

  test("with I/O encryption as well blocks come by RDMA, and what is read of a file is not plain") {
    assertByRdma(crypto :+ ("spark.io.encryption.enabled" -> "true"), plain = false)
  }

  test("with the user's word blocks come by RDMA as they lie in the files") {
    assertByRdma(crypto :+ ("spark.shuffle.rdma.allowUnencrypted" -> "true"), plain = true)
  }

  private def assertRefused(key: String, settings: Seq[(String, String)]): Unit = {
    val said = new Said
    val cluster = said.during(RdmaCluster.start(settings: _*))
    try {
      val traffic = cluster.groupByKey()
      assert(traffic.rdmaBytes == 0, traffic)
      assert(traffic.sparkRemoteBytes > 0, traffic)
    } finally cluster.stop()
    val remedies = Seq("spark.io.encryption.enabled=true", "spark.shuffle.rdma.allowUnencrypted=true")
    val warning = said.lines.find(_.startsWith("WARN Shuffle blocks go by TCP: "))
    assert(warning.exists(line => (remedies :+ s"$key=true").forall(line.contains)), said.lines)
  }

  private def assertByRdma(settings: Seq[(String, String)], plain: Boolean): Unit = {
    RdmaCluster.using(settings :+ ("spark.shuffle.compress" -> "false"): _*) { cluster =>
      val (isPlain, traffic) = cluster.watched { context =>
        val grouped = Jobs.grouped(context)
        assert(Jobs.hashed(grouped) == RdmaJobsByHand.groupByKey)
        val files = Jobs.dataFiles(context).map(Paths.get(_))
        assert(files.nonEmpty)
        assert(grouped.getNumPartitions == 8, "and the shuffle is still there")
        files.map(file => new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1).contains("value-"))
      }
      assert(isPlain.forall(_ == plain))
      assert(traffic.tcpBytes == 0, traffic)
      assert(traffic.rdmaBytes > 0, traffic)
    }
  }
}

private object EncryptedNetworkSuite {

  /** Settings of Spark's TLS with a key that is made here. */
  def tls(): Seq[(String, String)] = {
    val password = "only for tests"
    val directory = Files.createDirectories(Paths.get(System.getProperty("work.directory")))
    val store = Files.createTempDirectory(directory, "tls-").resolve("store.p12")
    val keytool = Paths.get(System.getProperty("java.home"), "bin", "keytool").toString
    val made = Seq(keytool, "-genkeypair", "-alias", "test", "-keyalg", "RSA", "-dname", "CN=test", "-storetype",
      "PKCS12", "-keystore", store.toString, "-storepass", password).!(ProcessLogger(_ => ()))
    require(made == 0, "keytool made no key")
    Seq(
      "enabled" -> "true",
      "protocol" -> "TLSv1.3",
      "keyStore" -> store.toString,
      "keyStoreType" -> "PKCS12",
      "keyStorePassword" -> password,
      "keyPassword" -> password,
      "trustStore" -> store.toString,
      "trustStoreType" -> "PKCS12",
      "trustStorePassword" -> password).map { case (key, value) => s"spark.ssl.rpc.$key" -> value }
  }
}
