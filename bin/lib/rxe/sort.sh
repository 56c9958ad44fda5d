# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in a guest of bin/rxe, after spark.sh: the command of a small TeraSort.

SORT_EXECUTORS=2

# sort_command DIR DEVICE RECORDS MAPS REDUCES CONF...: Sets `command` to a sort over the device on a local cluster of
# $SORT_EXECUTORS executors. Its files are in DIR; CONF are further options of spark-submit. Time limits fit an emulated
# processor.
sort_command() {
  local dir=$1 options="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
  launcher_command org.apache.spark.deploy.SparkSubmit --master "local-cluster[$SORT_EXECUTORS,1,512]" \
    --driver-java-options "$options" --conf "spark.executor.extraJavaOptions=$options" --conf spark.ui.enabled=false \
    --conf "spark.cores.max=$SORT_EXECUTORS" --conf spark.executor.memory=512m --conf "spark.hadoop.hadoop.tmp.dir=$dir/hadoop" \
    --conf "spark.hadoop.mapreduce.jobtracker.staging.root.dir=$dir/staging" --conf 'spark.kryo.classesToRegister=[[B' \
    --conf spark.shuffle.reduceLocality.enabled=false --conf spark.shuffle.rdma.fetchTimeout=120s \
    --conf spark.shuffle.rdma.connectTimeout=60s --conf spark.shuffle.rdma.peerLostTimeout=60s "${@:6}" \
    --jars "$EXAMPLES_JAR,$PLUGIN_JAR" --class org.shufflerdma.benchmarks.terasort.TeraSort "$BENCHMARKS_JAR" \
    --records "$3" --maps "$4" --reduces "$5" --shuffle rdma --device "$2" --dir "file://$dir/sort"
}
